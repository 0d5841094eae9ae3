package command

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"
)

// What the program was built from. A build sets them where Go does not know it, such as from an archive without
// its history: -ldflags "-X github.com/ridethrough/ridethrough/internal/cli/command.version=v1.2.3", and likewise
// commit and date (RFC 3339).
var version, commit, date string

// Build describes how the program was built. Unknown fields are "".
type Build struct {
	Version string // of the module, or devel
	Commit  string // whole, with "-dirty" if files were changed since
	Date    string // of the commit
}

// Built returns the build: what its linker flags say, or else what Go has recorded.
func Built() Build {
	b := Build{version, commit, date}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	return b.or(info)
}

// or fills in unknown fields from the notes of Go.
func (b Build) or(info *debug.BuildInfo) Build {
	noted := map[string]string{}
	for _, s := range info.Settings {
		noted[s.Key] = s.Value
	}
	if noted["vcs.revision"] != "" && noted["vcs.modified"] == "true" {
		noted["vcs.revision"] += "-dirty"
	}
	of := strings.TrimPrefix(info.Main.Version, "(devel)")
	return Build{cmp.Or(b.Version, of), cmp.Or(b.Commit, noted["vcs.revision"]), cmp.Or(b.Date, noted["vcs.time"])}
}

// Version returns the module's version, or devel with the commit, if that is known.
func Version() string { return Built().Name() }

// Name returns the version, or devel with the commit.
func (b Build) Name() string {
	switch {
	case b.Version != "":
		return b.Version
	case b.Commit != "":
		return "devel-" + b.Commit[:min(len(b.Commit), 12)]
	}
	return "devel"
}

// Describe returns the lines below the version: commit, Go, and what the program can do.
func (b Build) Describe(features string) string {
	lines := ""
	if b.Commit != "" {
		lines = "commit    " + b.Commit
		if b.Date != "" {
			lines += ", " + b.Date
		}
		lines += "\n"
	}
	return lines + "built by  " + runtime.Version() + " for " + runtime.GOOS + "/" + runtime.GOARCH + "\n" +
		"features  " + features
}
