package config_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

var update = flag.Bool("update", false, "write the manual and the schema instead of comparing them")

const (
	manual     = "../../../docs/configuration.md"
	schemaFile = "../../../docs/config.schema.json"
	marker     = "-run Manual -update -->\n"
)

// text reads a file of the repository.
func text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("read file: %v", err)
	}
	return string(data)
}

func TestManualAndSchema_MatchCode(t *testing.T) {
	prose, _, _ := strings.Cut(text(t, manual), marker)
	page := strings.TrimSpace(prose+marker+"\n"+config.Reference()) + "\n"
	for name, want := range map[string]string{manual: page, schemaFile: string(config.Schema())} {
		if *update {
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
				t.Fatalf("write file: %v", err)
			}
		}
		if text(t, name) != want {
			t.Errorf("%s differs; regenerate with: go test ./internal/operation/config -run Manual -update", name)
		}
	}
}

// setting finds what a configuration begins with, and no other YAML in the manual.
var setting = regexp.MustCompile(`(?m)^(listen|upstreams|policies|notices|detached|spool|agents|tokens):`)

// pagesExamples returns the configurations in the other pages.
func pagesExamples(t *testing.T) (all []string) {
	t.Helper()
	names, err := filepath.Glob("../../../docs/*.md")
	if err != nil || len(names) == 0 {
		t.Fatalf("pages: %q, %v", names, err)
	}
	for _, name := range names {
		if name == manual {
			continue
		}
		for _, block := range strings.Split(text(t, name), "```yaml\n")[1:] {
			if example, _, _ := strings.Cut(block, "```"); setting.MatchString(example) && !strings.Contains(example, "\noutages:") { // of a scenario of the lab
				all = append(all, example)
			}
		}
	}
	if len(all) < 8 {
		t.Errorf("%d examples in the other pages", len(all))
	}
	return all
}

// examples returns all files in the documentation.
func examples(t *testing.T) (all []string) {
	t.Helper()
	for _, block := range strings.Split(text(t, manual), "```yaml\n")[1:] {
		example, _, _ := strings.Cut(block, "```")
		all = append(all, example)
	}
	if len(all) < 4 {
		t.Errorf("%d examples in the manual", len(all))
	}
	all = append(all, pagesExamples(t)...)
	starting := config.Starter()
	uncommented := strings.NewReplacer("\n# tls:", "\ntls:", "\n# token:", "\ntoken:", "\n# tokens:", "\ntokens:", "\n# hosts:", "\nhosts:", "\n# origins:", "\norigins:", "\n#\n", "\n").Replace(starting)
	for _, part := range []string{"policies:", "upstreams:"} { // and with all of its examples
		before, rest, _ := strings.Cut(uncommented, "# "+part)
		block, after, _ := strings.Cut(rest, "\n\n")
		uncommented = before + part + strings.ReplaceAll(block, "\n# ", "\n") + "\n\n" + after
	}
	return append(all, starting, uncommented, integer, "")
}

func TestExamples_MatchCodeAndSchema(t *testing.T) {
	schema := resolve(t, config.Schema())
	for _, example := range examples(t) {
		c := parse(t, example)
		if doubts := c.Warnings(); len(doubts) > 0 && !strings.Contains(example, "listen: 127.0.0.1:9000") && !strings.Contains(example, "http2: prior-knowledge") {
			t.Errorf("%v in\n%s", doubts, example)
		}
		if wrong := check(schema, example); wrong != nil {
			t.Errorf("the schema refuses: %v in\n%s", wrong, example)
		}
		if wrong := check(schema, c.Show(true)); wrong != nil {
			t.Errorf("the schema refuses what is shown: %v in\n%s", wrong, c.Show(true))
		}
	}
}

// TestSchema_RejectsWhatParseRejects covers all mistakes that a schema can express.
func TestSchema_RejectsWhatParseRejects(t *testing.T) {
	schema := resolve(t, config.Schema())
	for _, tt := range mistakes {
		if strings.Contains(tt.text, "*x") || strings.Contains(tt.text, "!!") {
			continue // about YAML
		}
		if wrong := check(schema, tt.text); (wrong != nil) == beyond(tt.want) {
			t.Errorf("%s: the schema says %v, the code %s", tt.text, wrong, tt.want)
		}
	}
}

// beyond reports whether no schema can express a mistake.
func beyond(message string) bool {
	for _, words := range []string{
		"it is zero", "it is too large", "unknown policy", "unknown upstream", "duplicate field", "is an endpoint", "is not the name of an API",
		"a second document", "invalid YAML", "a policy needs backoff", "is no preset's", `"v1"`, `"[a"`,
	} {
		if strings.Contains(message, words) && !strings.Contains(message, "it is too large; want a number from 1 to 5") {
			return true
		}
	}
	return false
}

func TestSchema_DescribesEveryField(t *testing.T) {
	var walk func(at string, v any)
	walk = func(at string, v any) {
		s, ok := v.(map[string]any)
		if !ok {
			return
		}
		for key, value := range s {
			fields, ok := value.(map[string]any)
			if key == "properties" && ok {
				for name, field := range fields {
					if doc, _ := field.(map[string]any)["description"].(string); !strings.HasSuffix(doc, ".") && !strings.HasSuffix(doc, "}") {
						t.Errorf("%s.%s: %q is no description", at, name, doc)
					}
				}
			}
			walk(at+"."+key, value)
		}
	}
	var s any
	if err := json.NewDecoder(bytes.NewReader(config.Schema())).Decode(&s); err != nil {
		t.Fatalf("decode: %v", err)
	}
	walk("", s)
}
