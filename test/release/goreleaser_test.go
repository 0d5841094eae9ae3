package release_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// entries returns those of a list of the release's configuration, by their id or name.
func entries(t *testing.T, conf object, section, by string) map[string]object {
	t.Helper()
	items, _ := conf[section].([]any)
	all := map[string]object{}
	for _, item := range items {
		entry, _ := item.(object)
		name, _ := entry[by].(string)
		all[name] = entry
	}
	if len(all) != len(items) || len(all) == 0 {
		t.Fatalf("%s: %d entries with %d names", section, len(items), len(all))
	}
	return all
}

// made reports whether scripts/extras makes a path below build, as far as its text says.
func made(t *testing.T, path, program string) bool {
	t.Helper()
	below, ok := strings.CutPrefix(path, "build/")
	if !ok {
		return false
	}
	extras := read(t, "scripts/extras")
	switch below, of := strings.CutPrefix(below, program+"/"); {
	case !of: // a script of the package
		_, err := os.Stat(root + "packaging/" + below)
		return err == nil && strings.Contains(extras, "packaging/*.sh")
	case below == "share" || below == "share/**/*":
		return strings.Contains(extras, "share=$dir/$program/share")
	default:
		return strings.Contains(extras, "$dir/$program/"+below)
	}
}

func TestRelease_IsReproducible(t *testing.T) {
	conf := parse[object](t, ".goreleaser.yaml")
	if env := list(conf["env"]); !slices.Contains(env, "CGO_ENABLED=0") {
		t.Errorf("env %q, want CGO_ENABLED=0", env)
	}
	for id, build := range entries(t, conf, "builds", "id") {
		if !slices.Contains(list(build["flags"]), "-trimpath") || build["mod_timestamp"] != "{{ .CommitTimestamp }}" {
			t.Errorf("build %s: flags %v, time %v; want no paths and the commit's time", id, build["flags"], build["mod_timestamp"])
		}
		if main, _ := build["main"].(string); main != "./cmd/"+id || build["binary"] != id {
			t.Errorf("build %s: main %v, binary %v; want its own", id, build["main"], build["binary"])
		}
	}
	// Every file that is taken from the checkout has the time of the commit.
	for line := range strings.Lines(read(t, ".goreleaser.yaml")) {
		if strings.Contains(line, "src: ") && !strings.Contains(line, "info: *") && !strings.Contains(line, "CommitDate") && !strings.Contains(line, "type: tree") {
			t.Errorf("the file has the time of its checkout: %s", strings.TrimSpace(line))
		}
	}
}

func TestRelease_TakesFilesThatThereAre(t *testing.T) {
	conf := parse[object](t, ".goreleaser.yaml")
	programs := entries(t, conf, "builds", "id")
	for section, key := range map[string]string{"archives": "files", "nfpms": "contents"} {
		of := entries(t, conf, section, "id")
		for id, entry := range of {
			files, _ := entry[key].([]any)
			for _, f := range files {
				src, _ := at(f, "src").(string)
				if _, err := os.Stat(root + src); err != nil && !made(t, src, id) {
					t.Errorf("%s of %s: nothing makes %s", section, id, src)
				}
			}
			scripts, _ := entry["scripts"].(object)
			for _, script := range scripts {
				if !made(t, script.(string), id) {
					t.Errorf("%s of %s: nothing makes the script %s", section, id, script)
				}
			}
		}
		if len(of) != len(programs) {
			t.Errorf("%s: %d entries, want one for each of %d programs", section, len(of), len(programs))
		}
	}
	extras := strings.ReplaceAll(read(t, "scripts/extras"), "$share", "share")
	for name, cask := range entries(t, conf, "homebrew_casks", "name") {
		for _, file := range cask["completions"].(object) {
			if !strings.Contains(extras, strings.ReplaceAll(file.(string), name, "$program")) {
				t.Errorf("the cask %s: scripts/extras makes no %s", name, file)
			}
		}
	}
	for _, section := range []string{"homebrew_casks", "scoops", "winget"} {
		if of := entries(t, conf, section, "name"); len(of) != len(programs) {
			t.Errorf("%s: %d entries, want one for each of %d programs", section, len(of), len(programs))
		}
	}
	sbom := list(at(conf["sboms"].([]any)[0], "args"))
	read(t, filepath.ToSlash(filepath.Join("dist", sbom[0]))) // it runs in dist
}

// TestImage_IsOneName is about the places that name the image.
func TestImage_IsOneName(t *testing.T) {
	want, _ := at(parse[object](t, "charts/ridethrough/values.yaml"), "image", "repository").(string)
	for _, file := range []string{"deploy/compose/compose.yaml", "docs/install.md"} {
		names := regexp.MustCompile(`ghcr\.io/[a-z/-]+`).FindAllString(read(t, file), -1)
		if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return name != want }) {
			t.Errorf("%s names the images %q, want %s", file, names, want)
		}
	}
}
