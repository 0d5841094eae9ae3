//go:build linux

package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// programs makes the binaries that are measured: what no flag has named is built as a release is.
func (b *bench) programs(ctx context.Context) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b.baseline = filepath.Join(b.folder, "baseline")
	if err := copyFile(b.baseline, self); err != nil {
		return err
	}
	if b.root, err = output(exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)); err != nil {
		return err
	}
	switch {
	case b.profile != "" && b.ours != "":
		return errors.New("-ours and -profile do not go together: profiles take a build of their own")
	case b.profile != "":
		b.ours, err = b.buildProfiled(ctx)
	case b.ours == "":
		b.ours, err = b.build(ctx, "ridethrough", "")
	}
	for i, m := range b.peers {
		if m.Build != "" && err == nil {
			b.peers[i].program, err = b.build(ctx, m.Build, m.Profile)
		}
	}
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(b.ours)
	if err != nil {
		return err
	}
	b.version = info.Main.Version
	return nil
}

// build makes a program as a release has it, or with another profile of the compiler; "": its own.
func (b *bench) build(ctx context.Context, program, profile string) (string, error) {
	folder, err := os.MkdirTemp(b.folder, "build-")
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(b.root, "scripts", "programs"), folder, program)
	cmd.Env = os.Environ()
	if profile != "" {
		cmd.Env = append(cmd.Env, "PROFILE="+profile)
	}
	_, err = output(cmd)
	return filepath.Join(folder, program), err
}

// buildProfiled makes ours with a profiler, and without the compiler's profile, which is made from its own.
func (b *bench) buildProfiled(ctx context.Context) (string, error) {
	if err := os.MkdirAll(b.profile, 0o755); err != nil {
		return "", err
	}
	file := filepath.Join(b.folder, "profiled")
	_, err := output(exec.CommandContext(ctx, "go", "build", "-trimpath", "-pgo=off", "-o", file, module+"/bench/internal/profiled"))
	return file, err
}

// output runs a command and returns what it prints.
func output(cmd *exec.Cmd) (string, error) {
	text, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w\n%s%s", err, text, failed.Stderr)
		}
	}
	return strings.TrimSpace(string(text)), err
}

func copyFile(to, from string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close())
}
