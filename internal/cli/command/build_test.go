package command

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestBuild_IsWhatTheBuildSetsOrGoNotes(t *testing.T) {
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-11-22T18:00:00Z"}, {Key: "vcs.modified", Value: "true"}}
	for _, c := range []struct {
		set  Build
		main string
		vcs  []debug.BuildSetting
		want Build
		name string
	}{
		{Build{}, "(devel)", nil, Build{}, "devel"},
		{Build{}, "(devel)", vcs, Build{"", "0123456789abcdef-dirty", "2026-11-22T18:00:00Z"}, "devel-0123456789ab"},
		{Build{}, "v1.2.3", vcs[:2], Build{"v1.2.3", "0123456789abcdef", "2026-11-22T18:00:00Z"}, "v1.2.3"},
		{Build{"v2", "abc", "2026"}, "(devel)", vcs, Build{"v2", "abc", "2026"}, "v2"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.main}, Settings: c.vcs}
		got := c.set.or(info)
		if got != c.want || got.Name() != c.name {
			t.Errorf("%+v with %s and %v: got %+v named %s, want %+v named %s", c.set, c.main, c.vcs, got, got.Name(), c.want, c.name)
		}
	}
}

func TestBuild_DescribesItself(t *testing.T) {
	b := Build{"v2", "abc", "2026"}
	got := strings.Split(b.Describe("gateway, page"), "\n")
	if len(got) != 3 || got[0] != "commit    abc, 2026" || !strings.HasPrefix(got[1], "built by  go") || got[2] != "features  gateway, page" {
		t.Errorf("got %q, want commit, Go and features", got)
	}
	if got := (Build{}).Describe(""); strings.Contains(got, "commit") {
		t.Errorf("without a commit: got %q, want none", got)
	}
}
