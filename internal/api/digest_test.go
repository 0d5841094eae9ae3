package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/anthropic"
	"github.com/ridethrough/ridethrough/internal/api/gemini"
	"github.com/ridethrough/ridethrough/internal/api/openai"
)

var seed = api.DigestSeed{maphash.MakeSeed(), maphash.MakeSeed()}

// digest returns the digest of a body that comes in parts.
func digest(d *api.API, body []byte, size int) (sum api.Digest, ok bool) {
	s := d.NewRequestDigest(seed)
	for part := range slices.Chunk(body, size) {
		s.Scan(part)
	}
	return s.Sum()
}

func TestRequestDigest_SameRequest(t *testing.T) {
	const codex = `{"model":"gpt-5","input":[{"role":"user","content":"Hi \"}"}],"client_metadata":{"a":"1","turn":"[1"},"stream":true,"n":[]}`
	tests := []struct {
		name, other string
		same        bool
	}{
		{"other order", `{"stream":true,"n":[],"input":[{"content":"Hi \"}","role":"user"}],"client_metadata":{"turn":"[1","a":"1"},"model":"gpt-5"}`, true},
		{"other metadata", `{"model":"gpt-5","input":[{"role":"user","content":"Hi \"}"}],"client_metadata":{"turn":[{"b":2}]},"metadata":{"try":2},"stream":true,"n":[]}`, true},
		{"no metadata, whitespace", "{ \"model\" :\t\"gpt-5\",\r\n\"input\":[ {\"role\":\"user\" , \"content\":\"Hi \\\"}\"} ] ,\"stream\":true , \"n\" : [ ] }\n", true},
		{"other model", strings.Replace(codex, "gpt-5", "gpt-6", 1), false},
		{"not streamed", strings.Replace(codex, "true", "false", 1), false},
		{"a string in place of a literal", strings.Replace(codex, "true", `"true"`, 1), false},
		{"whitespace in a string", strings.Replace(codex, "Hi ", "Hi  ", 1), false},
		{"an object in place of an array", strings.Replace(codex, "[]", "{}", 1), false},
		{"one level more", strings.Replace(codex, "[]", "[[]]", 1), false},
		{"a member more", strings.Replace(codex, `"n"`, `"store":true,"n"`, 1), false},
		{"metadata inside the input", strings.Replace(codex, `"role"`, `"client_metadata":1,"role"`, 1), false},
	}
	want, ok := digest(openai.Responses(), []byte(codex), 1)
	if !ok {
		t.Fatalf("no digest of %s", codex)
	}
	for _, tt := range tests {
		if got, ok := digest(openai.Responses(), []byte(tt.other), 3); !ok || (got == want) != tt.same {
			t.Errorf("%s: digest %v, the same %v; want the same %v: %s", tt.name, ok, got == want, tt.same, tt.other)
		}
	}
}

func TestRequestDigest_MetadataOfAnthropicCounts(t *testing.T) {
	one, _ := digest(anthropic.Messages(), []byte(`{"model":"m","metadata":{"user_id":"session_1"}}`), 9)
	other, _ := digest(anthropic.Messages(), []byte(`{"model":"m","metadata":{"user_id":"session_2"}}`), 9)
	if one == other {
		t.Error("equal digests of two sessions of Claude Code, want different ones")
	}
}

func TestRequestDigest_NoneOfWhatIsNoObject(t *testing.T) {
	deep := `{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "}"
	for _, body := range []string{"", "Hi", `"Hi"`, "1", `{"a":1`, `{"a":1}}`, `{"a":1} {}`, `{"a":1,}`, `{"a":1]`, `[1}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":[1,]}`, `{,}`, deep} {
		if _, ok := digest(openai.Chat(), []byte(body), 2); ok {
			t.Errorf("digest of %.40s, want none", body)
		}
	}
}

// jsonValue is a JSON value with the members of its objects in an order.
type jsonValue struct {
	literal  string
	names    []string // of an object's members; nil: no object
	elements []*jsonValue
	object   bool
}

// values generates JSON values.
func values(depth int) *rapid.Generator[*jsonValue] {
	return rapid.Custom(func(t *rapid.T) *jsonValue {
		kind := rapid.IntRange(0, 3).Draw(t, "kind")
		if depth == 0 || kind < 2 {
			text, _ := json.Marshal(rapid.OneOf(rapid.String().AsAny(), rapid.Int().AsAny(), rapid.Bool().AsAny()).Draw(t, "leaf"))
			return &jsonValue{literal: string(text)}
		}
		return nested(t, kind == 2, depth)
	})
}

// nested generates an object or array.
func nested(t *rapid.T, object bool, depth int) *jsonValue {
	v := &jsonValue{object: object, elements: rapid.SliceOfN(values(depth-1), 0, 5).Draw(t, "elements")}
	if object {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z"\\{}\[\],: ]{0,4}`), len(v.elements), len(v.elements), rapid.ID).Draw(t, "names")
		for _, name := range names {
			text, _ := json.Marshal("v" + name)
			v.names = append(v.names, string(text))
		}
	}
	return v
}

// write writes a value with whitespace and with its members in another order.
func (v *jsonValue) write(b *bytes.Buffer, t *rapid.T) {
	space := func() { b.WriteString(rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r\n"}).Draw(t, "space")) }
	if v.literal != "" {
		b.WriteString(v.literal)
		return
	}
	order := make([]int, len(v.elements))
	for i := range order {
		order[i] = i
	}
	ends := "[]"
	if v.object {
		ends = "{}"
		order = rapid.Permutation(order).Draw(t, "order")
	}
	b.WriteByte(ends[0])
	for i, at := range order {
		if i > 0 {
			b.WriteByte(',')
		}
		space()
		if v.object {
			b.WriteString(v.names[at])
			space()
			b.WriteByte(':')
			space()
		}
		v.elements[at].write(b, t)
		space()
	}
	b.WriteByte(ends[1])
}

// leaves returns all values without elements.
func (v *jsonValue) leaves() (all []*jsonValue) {
	if len(v.elements) == 0 {
		return []*jsonValue{v}
	}
	for _, e := range v.elements {
		all = append(all, e.leaves()...)
	}
	return all
}

// Another order of members and other whitespace never change the digest, another value always does.
func TestRequestDigest_FollowsTheMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := nested(t, true, 4)
		written := func() []byte {
			var b bytes.Buffer
			v.write(&b, t)
			return b.Bytes()
		}
		body, again := written(), written()
		size := rapid.IntRange(1, 64).Draw(t, "size")
		one, ok := digest(openai.Chat(), body, size)
		same, okAgain := digest(openai.Chat(), again, 1)
		if !ok || !okAgain || one != same {
			t.Fatalf("digests %v, %v, equal %v; want equal ones of\n%s\n%s", ok, okAgain, one == same, body, again)
		}
		leaf := rapid.SampledFrom(v.leaves()).Draw(t, "leaf")
		before := fmt.Sprint(leaf.literal, leaf.object)
		*leaf = jsonValue{literal: `"changed ` + strings.Trim(leaf.literal, `"`) + `"`}
		if leaf.literal = strings.ReplaceAll(leaf.literal, `\`, ""); before == fmt.Sprint(leaf.literal, false) {
			return
		}
		if changed := written(); len(v.elements) > 0 {
			if other, ok := digest(openai.Chat(), changed, size); ok && other == one {
				t.Fatalf("equal digests of\n%s\n%s", body, changed)
			}
		}
	})
}

// FuzzRequestDigest holds the digest against encoding/json: what is an object has one, the same in any parts, and
// the same as its members in the order in which encoding/json writes them.
func FuzzRequestDigest(f *testing.F) {
	f.Add([]byte(`{"model":"claude","messages":[{"role":"user","content":"Hi {\"}\\"}],"stream":true}`), 1)
	f.Add([]byte(`{"b":[1,{"c":null}],"a":{}}`), 5)
	f.Fuzz(func(t *testing.T, body []byte, size int) {
		whole, ok := digest(gemini.API(), body, max(1, len(body)))
		if parts, okParts := digest(gemini.API(), body, 1+max(0, size)%64); parts != whole || okParts != ok {
			t.Errorf("digest of %q in parts: %v, %x; want %v, %x", body, okParts, parts, ok, whole)
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(body, &members) != nil || members == nil {
			return
		}
		if !ok && bytes.Count(body, []byte("["))+bytes.Count(body, []byte("{")) < 500 {
			t.Errorf("no digest of the object %q", body)
		}
		keys := bytes.Count(body, []byte(":"))
		sorted, err := json.Marshal(members)
		if err != nil || keys != len(members) || bytes.ContainsAny(body, `\<>&`) || bytes.ContainsFunc(body, func(r rune) bool { return r > 126 || r < 32 }) {
			return // written differently, or a member twice
		}
		if again, _ := digest(gemini.API(), sorted, 7); again != whole {
			t.Errorf("digest of %s differs from that of %s", sorted, body)
		}
	})
}

func BenchmarkRequestDigest(b *testing.B) {
	text := []byte(`{"model":"gpt-5","messages":[{"role":"user","content":"` + strings.Repeat("word ", 1<<20/5) + `"}]}`)
	turns := []byte(`{"model":"gpt-5","messages":[` + strings.Repeat(`{"role":"user","content":"How is the weather today?"},`, 1<<20/54) + `{}]}`)
	numbers := []byte(`{"model":"gpt-5","prompt":[` + strings.Repeat("1234,", 1<<20/5) + `1]}`)
	for name, body := range map[string][]byte{"text": text, "turns": turns, "numbers": numbers} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := digest(openai.Chat(), body, 64<<10); !ok {
					b.Fatal("no digest")
				}
			}
		})
	}
}

// With the zero seed a digest is the same in every process: this one is from another.
func TestRequestDigest_ZeroSeedIsPortable(t *testing.T) {
	of := func(body string) api.Digest {
		d := openai.Responses().NewRequestDigest(api.DigestSeed{})
		for part := range slices.Chunk([]byte(body), 5) {
			d.Scan(part)
		}
		sum, ok := d.Sum()
		if !ok {
			t.Fatalf("no digest of %s", body)
		}
		return sum
	}
	got := of(`{"model":"gpt-5","input":[{"role":"user","content":"Hi"}],"metadata":{"n":1}}`)
	if want := (api.Digest{0x94ba0ad5f641fd2b, 0xa37745544181f378}); got != want {
		t.Errorf("got %#x, want %#x", got, want)
	}
	if other := of(`{"input":[{"content":"Hi","role":"user"}],"model":"gpt-5"}`); other != got {
		t.Errorf("in another order: got %#x, want %#x", other, got)
	}
	if other := of(`{"input":[{"content":"Ho","role":"user"}],"model":"gpt-5"}`); other == got {
		t.Errorf("another request has the same digest %#x", other)
	}
}
