package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// Cores are processors by their numbers.
type Cores []int

// AllCores returns the processors that this process may use.
func AllCores() (all Cores, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("processors: %w", err)
	}
	for i := range 8 * 128 {
		if set.IsSet(i) {
			all = append(all, i)
		}
	}
	return all, nil
}

func (c Cores) set() *unix.CPUSet {
	var set unix.CPUSet
	for _, i := range c {
		set.Set(i)
	}
	return &set
}

// on runs a function whose children, if it starts any, keep to these processors from their first instruction
// on: a Go program reads how many it has as it starts.
func (c Cores) on(do func() error) error {
	if len(c) == 0 {
		return do()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := AllCores()
	if err != nil {
		return err
	}
	if err := unix.SchedSetaffinity(0, c.set()); err != nil {
		return fmt.Errorf("processors %v: %w", c, err)
	}
	defer func() { _ = unix.SchedSetaffinity(0, before.set()) }() // to where the thread came from
	return do()
}

// Keep restricts all threads of this process to these processors.
func (c Cores) Keep() error {
	threads, err := os.ReadDir(filepath.Join("/proc", "self", "task"))
	if err != nil {
		return err
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(id, c.set()); err != nil && err != unix.ESRCH { // it has ended
			return fmt.Errorf("processors %v: %w", c, err)
		}
	}
	return nil
}
