package proc

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

const (
	patience = 10 * time.Second // to start listening, and to end when asked to
	glance   = 10 * time.Millisecond
)

// Process is one process of the benchmark. It listens on one address.
type Process struct {
	Name string
	Addr string // host:port
	Log  string // the file with what it has printed

	cmd   *exec.Cmd
	done  chan struct{} // closed when it has ended
	ended error         // how, after that
}

// Program is what Start runs.
type Program struct {
	Name   string
	Addr   string // host:port, on which it listens
	Folder string // for its log
	Argv   []string
	Env    []string // NAME=VALUE, besides ours
	Cores  Cores    // that it keeps to; none: all
}

// Start runs a program and waits until it listens. It is killed if we die first.
func Start(g Program) (*Process, error) {
	log, err := os.CreateTemp(g.Folder, g.Name+"-*.log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(g.Argv[0], g.Argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(environment(os.Environ()), g.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true} // a group of its own: Ctrl-C is for us
	if err := g.Cores.on(cmd.Start); err != nil {
		return nil, err
	}
	p := &Process{Name: g.Name, Addr: g.Addr, Log: log.Name(), cmd: cmd, done: make(chan struct{})}
	go func() { p.ended = cmd.Wait(); close(p.done) }()
	if err := p.listens(); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// Alive is an error if the process has ended.
func (p *Process) Alive() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s has ended: %v: %s", p.Name, p.ended, p.lastWords())
	default:
		return nil
	}
}

// environment leaves out what would set up ours other than its flags do.
func environment(all []string) []string {
	var kept []string
	for _, v := range all {
		if !strings.HasPrefix(v, "RIDETHROUGH_") && !strings.HasPrefix(v, "OTEL_") {
			kept = append(kept, v)
		}
	}
	return kept
}

// listens waits until the process takes connections.
func (p *Process) listens() error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(glance) {
		if err := p.Alive(); err != nil {
			return err
		}
		if c, err := net.Dial("tcp", p.Addr); err == nil {
			return c.Close()
		}
	}
	return fmt.Errorf("%s does not listen on %s: %s", p.Name, p.Addr, p.lastWords())
}

// lastWords are the end of what the process has printed.
func (p *Process) lastWords() string {
	text, _ := os.ReadFile(p.Log)
	return strings.TrimSpace(string(text[max(0, len(text)-500):]))
}

// Signal sends a signal to the process.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Stop ends the process, by force if it does not end when asked to.
func (p *Process) Stop() error {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM, syscall.SIGKILL} { // ours ends its answers at the second
		_ = p.Signal(s)
		select {
		case <-p.done:
			return nil
		case <-time.After(patience / 10):
		}
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("%s (%d) does not end", p.Name, p.cmd.Process.Pid)
	}
}

// CPU is the processor time that the process has used in user mode and in the kernel, to the nanosecond: its
// clock counts what utime and stime of /proc/PID/stat round to ticks of 10 ms.
func (p *Process) CPU() (time.Duration, error) { return cpu(p.cmd.Process.Pid) }

// OwnCPU is the processor time of this process.
func OwnCPU() (time.Duration, error) { return cpu(os.Getpid()) }

func cpu(pid int) (time.Duration, error) {
	clock := ^pid<<3 | 2 // as clock_getcpuclockid(3) names the clock of a process
	var t syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&t)), 0)
	if errno != 0 {
		return 0, fmt.Errorf("processor time of %d: %w", pid, errno)
	}
	return time.Duration(t.Nano()), nil
}

// PSS is the memory of the process in bytes: what it has to itself, and its
// share of what it shares with others.
func (p *Process) PSS() (int64, error) { return p.size("smaps_rollup", "Pss") }

// Data is what of its PSS belongs to no file: heap and stacks, and no code.
func (p *Process) Data() (int64, error) { return p.size("smaps_rollup", "Pss_Anon") }

// Peak is the most memory in bytes that the process has had so far, with all that it shares.
func (p *Process) Peak() (int64, error) { return p.size("status", "VmHWM") }

func (p *Process) size(file, name string) (int64, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), file))
	if err != nil {
		return 0, err
	}
	return ParseSize(text, name)
}

// Descriptors is the number of its open file descriptors.
func (p *Process) Descriptors() (int, error) {
	all, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "fd"))
	return len(all), err
}

// Sockets sums up the connections that have been made to the process.
func (p *Process) Sockets() (Sockets, error) {
	_, port, err := net.SplitHostPort(p.Addr)
	if err != nil {
		return Sockets{}, err
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return Sockets{}, err
	}
	f, err := os.Open("/proc/net/tcp")
	if err != nil {
		return Sockets{}, err
	}
	defer f.Close()
	return ParseSockets(f, n)
}

// Free returns an unused address of the loopback interface.
func Free() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
