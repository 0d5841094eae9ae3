package settingsfile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/internal/cli/settingsfile"
)

func set(value string, path ...string) []settingsfile.Setting {
	return []settingsfile.Setting{{Path: path, Value: value}}
}

// TestFormat_SetsOneSettingAndTakesItBack compares whole files.
func TestFormat_SetsOneSettingAndTakesItBack(t *testing.T) {
	for _, c := range []struct {
		name         string
		format       settingsfile.Format
		set          []settingsfile.Setting
		before, want string
	}{
		{"no file", settingsfile.JSON, set("u", "env", "X"), "", "{\n  \"env\": {\n    \"X\": \"u\"\n  }\n}\n"},
		{"an empty object", settingsfile.JSON, set("u", "env", "X"), "{}", "{\n  \"env\": {\n    \"X\": \"u\"\n  }\n}"},
		{
			"comments, tabs and order", settingsfile.JSON, set("u", "env", "X"),
			"// mine\n{\n\t\"a\": [1, \"}\"], // one\n\t\"env\": {\n\t\t\"Y\": \"\\\"\" /* two */\n\t},\n\t\"z\": null\n}\n",
			"// mine\n{\n\t\"a\": [1, \"}\"], // one\n\t\"env\": {\n\t\t\"Y\": \"\\\"\", /* two */\n\t\t\"X\": \"u\"\n\t},\n\t\"z\": null\n}\n",
		},
		{"a comma at the end", settingsfile.JSON, set("u", "X"), "{\n  \"a\": 1,\n}\n", "{\n  \"a\": 1,\n  \"X\": \"u\",\n}\n"},
		{"an older value", settingsfile.JSON, set("u", "X"), "{\"X\": \"old\", \"b\":2}", "{\"X\": \"u\", \"b\":2}"},
		{"Windows' lines", settingsfile.JSON, set("u", "X"), "{\r\n  \"a\": 1\r\n}\r\n", "{\r\n  \"a\": 1,\r\n  \"X\": \"u\"\r\n}\r\n"},
		{"no TOML", settingsfile.TOML, set("u", "k"), "", "k = \"u\"\n"},
		{"TOML with a table", settingsfile.TOML, set("u", "k"), "# c\na = 1\n\n[t]\nk = \"other\"\n", "# c\na = 1\n\nk = \"u\"\n[t]\nk = \"other\"\n"},
		{"TOML with an older value", settingsfile.TOML, set("u", "k"), "k='old' # c\nb = 2\n", "k = \"u\"\nb = 2\n"},
		{"TOML in a text", settingsfile.TOML, set("u", "k"), "a = \"\"\"\nk = 1\n[x]\n\"\"\"\n", "a = \"\"\"\nk = 1\n[x]\n\"\"\"\nk = \"u\"\n"},
		{"YAML", settingsfile.YAML, set("u", "k"), "a: 1\nb:\n  k: x", "a: 1\nb:\n  k: x\nk: \"u\"\n"},
		{"variables", settingsfile.Variables, set("u", "X"), "A=1\nexport X=old\nXY=2\n", "A=1\nX=u\nXY=2\n"},
	} {
		after, changes, err := c.format.Apply(c.before, c.set)
		if err != nil || len(changes) != 1 {
			t.Errorf("%s: %d changes and error %v, want one", c.name, len(changes), err)
			continue
		}
		if diff := cmp.Diff(c.want, after); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if again, more, err := c.format.Apply(after, c.set); err != nil || len(more) != 0 || again != after {
			t.Errorf("%s: a second time: %d changes, error %v and %q, want none", c.name, len(more), err, again)
		}
		want := c.before
		switch {
		case c.before == "" && c.format == settingsfile.JSON:
			want = "{}\n"
		case !strings.HasSuffix(c.before, "\n") && c.format == settingsfile.YAML:
			want += "\n"
		}
		back, kept, err := c.format.Revert(after, changes)
		if err != nil || len(kept) > 0 || back != want {
			t.Errorf("%s: taken back: %q, %d kept and error %v, want %q", c.name, back, len(kept), err, want)
		}
	}
}

func TestFormat_KeepsWhatWasChangedSince(t *testing.T) {
	before := "{\n  \"env\": {\n    \"A\": \"1\"\n  }\n}\n"
	after, changes, err := settingsfile.JSON.Apply(before, set("u", "env", "X"))
	if err != nil {
		t.Fatalf("apply: %v", err)
	}
	own := strings.Replace(after, `"u"`, `"mine"`, 1)
	if back, kept, err := settingsfile.JSON.Revert(own, changes); err != nil || len(kept) != 1 || back != own {
		t.Errorf("a value that was changed: got %q, %d kept and error %v, want it untouched", back, len(kept), err)
	}
	more := strings.Replace(after, "{\n", "{\n  \"new\": true,\n", 1)
	want := strings.Replace(before, "{\n", "{\n  \"new\": true,\n", 1)
	if back, kept, err := settingsfile.JSON.Revert(more, changes); err != nil || len(kept) != 0 || back != want {
		t.Errorf("another setting is new: got %q, %d kept and error %v, want %q", back, len(kept), err, want)
	}
}

func TestFormat_RefusesDamagedFiles(t *testing.T) {
	for _, text := range []string{"[]", "{", `{"a"`, `{"a":`, `{"a":1,,}`, `{"env":7}`, `{"a":"x`, "x", `{"a":{"b":[}`} {
		if after, _, err := settingsfile.JSON.Apply(text, set("u", "env", "X")); err == nil {
			t.Errorf("%q: no error, and %q", text, after)
		}
	}
}

func FuzzFormat_AppliedAndRevertedIsTheSame(f *testing.F) {
	f.Add("{\n\t\"a\": {\"b\": [1, 2], /* c */}, // d\n}\n")
	f.Add(`{"env":{"Y":"1"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		after, changes, err := settingsfile.JSON.Apply(text, set("u", "env", "X"))
		if err != nil || len(changes) == 0 || changes[0].Had {
			return
		}
		if again, _, err := settingsfile.JSON.Apply(after, set("u", "env", "X")); err != nil || again != after {
			t.Errorf("%q became %q, which is not read again: %v", text, after, err)
		}
		if _, kept, err := settingsfile.JSON.Revert(after, changes); err != nil || len(kept) > 0 {
			t.Errorf("%q became %q, which is not taken back: %v", text, after, err)
		}
	})
}
