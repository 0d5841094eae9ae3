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

// process is a server that was started. It is the writer to its input; closing
// that ends it.
type process struct {
	io.WriteCloser // its input
	cmd            *exec.Cmd
	out            io.ReadCloser
	patience       time.Duration
	end            func() error
	ended          chan struct{} // closed when it has
	how            error         // nil: in good order; read it when ended is closed
}

// launch starts the program of a server.
func launch(s Server) (*process, error) {
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Env, cmd.Dir, cmd.Stderr = append(needed(), s.Env...), s.Dir, s.Stderr
	p := &process{cmd: cmd, patience: cmp.Or(s.Stop, stop), ended: make(chan struct{})}
	cmd.WaitDelay = p.patience // for whoever has inherited its standard error
	own(cmd)
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
	p.end = sync.OnceValue(p.finish)
	return p, nil
}

// needed gives what of our environment a program needs to start at all.
func needed() []string {
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
func (p *process) Close() error { return p.end() }

// finish ends the program: its input first, then by request, then by force.
func (p *process) finish() error {
	_ = p.WriteCloser.Close() // it may be gone already
	go func() {
		p.how = p.cmd.Wait()
		close(p.ended)
	}()
	for _, force := range []func(*exec.Cmd){terminate, kill} {
		if p.within(p.patience) {
			return nil
		}
		force(p.cmd)
	}
	if !p.within(p.patience) {
		return errors.New("the server does not end")
	}
	return nil
}

// within tells whether the program ends in time.
func (p *process) within(d time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	select {
	case <-p.ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// ending waits for the end of a program whose output has ended, and says how it
// came.
func (p *process) ending(ctx context.Context) error {
	go p.end() // the session does it as well, in its own time
	select {
	case <-p.ended:
		return cmp.Or(p.how, errors.New("exit status 0"))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
