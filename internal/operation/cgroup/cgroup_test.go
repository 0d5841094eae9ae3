package cgroup_test

import (
	"math"
	"runtime/debug"
	"testing"
	"testing/fstest"

	"github.com/ridethrough/ridethrough/internal/operation/cgroup"
)

// files makes a file system of paths and their texts.
func files(pairs ...string) fstest.MapFS {
	all := fstest.MapFS{}
	for i := 0; i+1 < len(pairs); i += 2 {
		all[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1] + "\n")}
	}
	return all
}

const (
	own = "proc/self/cgroup"
	v2  = "sys/fs/cgroup/"
	v1  = "sys/fs/cgroup/memory/"
)

func TestMemoryLimit_OfBothVersions(t *testing.T) {
	for _, c := range []struct {
		name string
		root fstest.MapFS
		want int64
	}{
		{"another system", files(), 0},
		{"version 2", files(own, "0::/user.slice/a.service", v2+"user.slice/a.service/memory.max", "268435456"), 256 << 20},
		{"version 2, no limit", files(own, "0::/a", v2+"a/memory.max", "max"), 0},
		{"version 2, a limit above", files(own, "0::/a/b", v2+"a/b/memory.max", "max", v2+"a/memory.max", "1000"), 1000},
		{"version 2, a lower limit above", files(own, "0::/a/b", v2+"a/b/memory.max", "2000", v2+"a/memory.max", "1000"), 1000},
		{"version 2, a container", files(own, "0::/", v2+"memory.max", "1000"), 1000},
		{"version 2, the host's path", files(own, "0::/docker/abc", v2+"memory.max", "1000"), 1000},
		{"version 2, a group of another branch", files(own, "0::/../b", v2+"b/memory.max", "1000"), 1000},
		{"version 1", files(own, "5:cpu,cpuacct:/a\n4:memory:/a", v1+"a/memory.limit_in_bytes", "1000"), 1000},
		{"version 1, no limit", files(own, "4:memory:/a", v1+"a/memory.limit_in_bytes", "9223372036854771712"), 0},
		{"version 1, a container", files(own, "4:memory:/docker/abc", v1+"memory.limit_in_bytes", "1000"), 1000},
		{"both, the memory in version 1", files(own, "4:memory:/a\n0::/a", v1+"a/memory.limit_in_bytes", "1000"), 1000},
		{"a path with colons", files(own, "0::/a:b", v2+"a:b/memory.max", "1000"), 1000},
		{"damage", files(own, "nothing", v2+"memory.max", "x"), 0},
		{"zero", files(own, "0::/", v2+"memory.max", "0"), 0},
	} {
		if got := cgroup.MemoryLimit(c.root); got != c.want {
			t.Errorf("%s: MemoryLimit = %d, want %d", c.name, got, c.want)
		}
	}
}

func TestLimitMemory_LeavesHeadRoomAndTheEnvironment(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	root := files(own, "0::/", v2+"memory.max", "1000000000")
	for _, c := range []struct {
		root fstest.MapFS
		env  string
		want int64
	}{{root, "", 900_000_000}, {root, "2GiB", math.MaxInt64}, {files(), "", math.MaxInt64}} {
		debug.SetMemoryLimit(math.MaxInt64)
		cgroup.LimitMemory(c.root, func(string) string { return c.env })
		if got := debug.SetMemoryLimit(-1); got != c.want {
			t.Errorf("with GOMEMLIMIT=%q and %d files the limit is %d, want %d", c.env, len(c.root), got, c.want)
		}
	}
}
