package mcp

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// process is a started server. It is the writer to the server's input; closing it ends the server.
type process struct {
	io.WriteCloser // its input
	cmd            *exec.Cmd
	out            io.ReadCloser
	patience       time.Duration
	stopOnce       func() error
	ended          chan struct{} // closed when the program has ended
	exitErr        error         // nil: exit status 0; read it when ended is closed
}

// launch starts the program of a server.
func launch(s Server) (*process, error) {
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Env, cmd.Dir, cmd.Stderr = append(baseEnvironment(), s.Env...), s.Dir, s.Stderr
	if s.Secrets != nil {
		secrets, err := s.Secrets()
		if err != nil {
			return nil, err
		}
		cmd.Env = append(cmd.Env, secrets...)
	}
	p := &process{cmd: cmd, patience: cmp.Or(s.StopTimeout, defaultStopTimeout), ended: make(chan struct{})}
	cmd.WaitDelay = p.patience // for children that have inherited its standard error
	setProcessGroup(cmd)
	var err error
	if p.WriteCloser, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = io.NopCloser(out) // it may still write while it ends
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.stopOnce = sync.OnceValue(p.stop)
	return p, nil
}

// baseEnvironment returns the variables of this process's environment that a program needs to start.
func baseEnvironment() []string {
	var env []string
	for _, name := range []string{
		"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
		"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE",
	} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Close ends the program and waits until it has ended.
func (p *process) Close() error { return p.stopOnce() }

// stop ends the program: by closing its input, then by a signal, then by force.
func (p *process) stop() error {
	_ = p.WriteCloser.Close() // it may have ended already
	go func() {
		p.exitErr = p.cmd.Wait()
		close(p.ended)
	}()
	for _, force := range []func(*exec.Cmd){terminate, kill} {
		if p.exitsWithin(p.patience) {
			return nil
		}
		force(p.cmd)
	}
	if !p.exitsWithin(p.patience) {
		return errors.New("the server does not end")
	}
	return nil
}

// exitsWithin reports whether the program ends in time.
func (p *process) exitsWithin(d time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	select {
	case <-p.ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// exitError waits for the end of a program whose output has ended, and returns how it ended.
func (p *process) exitError(ctx context.Context) error {
	go p.stopOnce() // the session does this too, but later
	select {
	case <-p.ended:
		return cmp.Or(p.exitErr, errors.New("exit status 0"))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
