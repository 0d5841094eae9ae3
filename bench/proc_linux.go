package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/ridethrough/ridethrough/retry"
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

// Program is what StartProcess runs.
type Program struct {
	Name   string
	Addr   string // host:port, on which it listens
	Folder string // for its log
	Argv   []string
	Env    []string // NAME=VALUE, besides ours
	Cores  Cores    // that it keeps to; none: all
}

// StartProcess runs a program and waits until it listens. It is killed if we die first.
func StartProcess(g Program) (*Process, error) {
	log, err := os.CreateTemp(g.Folder, g.Name+"-*.log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(g.Argv[0], g.Argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(slices.DeleteFunc(os.Environ(), setsUpOurs), g.Env...)
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

// Alive returns an error if the process has ended.
func (p *Process) Alive() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s has ended: %v: %s", p.Name, p.ended, p.lastWords())
	default:
		return nil
	}
}

// setsUpOurs reports whether a variable would configure ours differently from its flags.
func setsUpOurs(v string) bool {
	return strings.HasPrefix(v, "RIDETHROUGH_") || strings.HasPrefix(v, "OTEL_")
}

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

func (p *Process) lastWords() string {
	text, _ := os.ReadFile(p.Log)
	return strings.TrimSpace(string(text[max(0, len(text)-500):]))
}

// Stop ends the process, by force if it ignores the signal.
func (p *Process) Stop() error {
	wait := patience / 10
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM, syscall.SIGKILL} { // ours ends its answers at the second
		_ = p.cmd.Process.Signal(s)
		if s == syscall.SIGKILL {
			wait = patience
		}
		select {
		case <-p.done:
			return nil
		case <-time.After(wait):
		}
	}
	return fmt.Errorf("%s (%d) does not end", p.Name, p.cmd.Process.Pid)
}

// CPU is the processor time that the process has used in user mode and in the kernel, to the nanosecond: its
// clock counts what utime and stime of /proc/PID/stat round to ticks of 10 ms.
func (p *Process) CPU() (time.Duration, error) { return cpuOf(p.cmd.Process.Pid) }

// CPUWithin is the processor time that the process uses during d.
func (p *Process) CPUWithin(ctx context.Context, d time.Duration) (time.Duration, error) {
	before, err := p.CPU()
	if err != nil {
		return 0, err
	}
	if err := retry.Sleep(ctx, d); err != nil {
		return 0, err
	}
	after, err := p.CPU()
	return after - before, err
}

// OwnCPU is the processor time of this process.
func OwnCPU() (time.Duration, error) { return cpuOf(os.Getpid()) }

func cpuOf(pid int) (time.Duration, error) {
	clock := ^pid<<3 | 2 // as clock_getcpuclockid(3) names the clock of a process
	var t syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&t)), 0)
	if errno != 0 {
		return 0, fmt.Errorf("processor time of %d: %w", pid, errno)
	}
	return time.Duration(t.Nano()), nil
}

// PSS is the memory of the process in bytes: its private memory, and its part of shared memory.
func (p *Process) PSS() (int64, error) { return p.size("smaps_rollup", "Pss") }

// Data is the part of its PSS without a file: heap and stacks, but no code.
func (p *Process) Data() (int64, error) { return p.size("smaps_rollup", "Pss_Anon") }

// ResetPeak restarts the peak at the current memory.
func (p *Process) ResetPeak() error {
	return os.WriteFile(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "clear_refs"), []byte("5"), 0)
}

// Peak is the maximum memory in bytes since the reset or the start, including all shared memory.
func (p *Process) Peak() (int64, error) { return p.size("status", "VmHWM") }

func (p *Process) size(file, name string) (int64, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), file))
	if err != nil {
		return 0, err
	}
	return ParseSize(text, name)
}

// Sockets sums up the connections to the process.
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

// FreeAddress returns an unused address of the loopback interface.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
