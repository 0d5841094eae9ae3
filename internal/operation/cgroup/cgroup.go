// Package cgroup keeps the program's memory below the limit of its control group, which containers and systemd
// set. Without that the garbage collector runs when it would save time, and the kernel ends the process where a
// collection had been enough. It knows both versions of control groups, and does nothing outside Linux.
package cgroup

import (
	"io/fs"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// unlimited is a limit that is none: version 1 has a number for that.
const unlimited = 1 << 60

// LimitMemory sets Go's soft limit on memory to nine tenths of the control group's limit, unless GOMEMLIMIT is
// set. The rest is for what Go does not count, such as the pages of files. root is the file system from its root.
func LimitMemory(root fs.FS, env func(string) string) {
	if limit := MemoryLimit(root); limit > 0 && env("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}

// MemoryLimit returns the least limit of the process's control group and those above it, in bytes; 0: there is
// none.
func MemoryLimit(root fs.FS) int64 {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	least := int64(unlimited)
	for line := range strings.Lines(string(groups)) { // ID:CONTROLLERS:PATH
		_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		switch {
		case controllers == "":
			least = min(least, leastLimit(root, "sys/fs/cgroup", group, "memory.max"))
		case strings.Contains(","+controllers+",", ",memory,"):
			least = min(least, leastLimit(root, "sys/fs/cgroup/memory", group, "memory.limit_in_bytes"))
		}
	}
	if least == unlimited {
		return 0
	}
	return least
}

// leastLimit returns the least limit that files of a name have, from a group's folder up to the top. In a
// container the top may be the group itself, under a path that only its host knows.
func leastLimit(root fs.FS, top, group, name string) int64 {
	least := int64(unlimited)
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		text, err := fs.ReadFile(root, path.Join(top, group, name))
		if err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 { // else "max"
				least = min(least, n)
			}
		}
		if group == "/" {
			return least
		}
	}
}
