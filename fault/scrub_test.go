package fault_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ridethrough/ridethrough/fault"
)

func TestScrub_MasksCredentials(t *testing.T) {
	tests := []struct{ text, want string }{
		{"Incorrect API key provided: sk-proj-abc123DEF456. See our site.", "Incorrect API key provided: ***. See our site."},
		{"Incorrect API key provided: ab12****************wxyz.", "Incorrect API key provided: ***."},
		{"key sk-ant-api03-AAAA_bbbb-1234 is bad", "key *** is bad"},
		{"token provided: sk-lm-J9fa6Fbc:jkFcl7oqhmx5GB1eM5fL, or sk-0123456789: no", "token provided: ***, or ***: no"},
		{"Authorization: Bearer abcdef123456/xy+z==", "Authorization: Bearer ***"},
		{"Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic ***"},
		{`Post "https://h/v1beta/m:go?key=AIzaSyA1234567890&alt=sse": EOF`, `Post "https://h/v1beta/m:go?key=***&alt=sse": EOF`},
		{`{"api_key": "0123456789abcdef"}`, `{"api_key": "***"}`},
		{"dial https://user:hunter2@host/v1", "dial https://user:***@host/v1"},
		{`parse "http://me:s3cr3tpw!x9@h%zz:1": invalid URL escape "%zz"`, `parse "http://me:***@h%zz:1": invalid URL escape "%zz"`},
		{"http://me:p%40ss/w0rd@host and http://me:p@ss@host:8/x", "http://me:***@host and http://me:***@host:8/x"},
		{"https://0123abcd@host/x, https://:pw@host", "https://***@host/x, https://:***@host"},
		{"https://host:8080/@scope/pkg and mail@host", "https://host:8080/@scope/pkg and mail@host"},
		{"gsk_0123456789 xai-0123456789 hf_abcdefghij", "*** *** ***"},
		{"jwt eyJhbGciOiJIUzI1NiJ9.e30.x-y_z", "jwt ***"},
		{"req_011CSHoEeqs5C35K2UUqR7Fy and org-9a8b7c", "req_011CSHoEeqs5C35K2UUqR7Fy and org-9a8b7c"},
		{"Unexpected token 173781 in the key: value", "Unexpected token 173781 in the key: value"},
		{"Bearer authentication required", "Bearer authentication required"},
		{"a sk- b... c", "a sk- b... c"},
	}
	for _, tt := range tests {
		if got := fault.Scrub(tt.text); got != tt.want {
			t.Errorf("Scrub(%s) = %s, want %s", tt.text, got, tt.want)
		}
	}
}

func FuzzScrub(f *testing.F) {
	for _, s := range []string{"sk-ant-api03-AAAA", "Bearer abc123", "?key=abc&x=1", "https://u:p@h", `"api_key": "0123456789ab"`, "a.b..", "provided: ****"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		const key = "sk-proj-0123456789abcdef"
		once := fault.Scrub(s)
		if utf8.ValidString(s) && !utf8.ValidString(once) {
			t.Fatalf("Scrub(%q) = %q, want valid UTF-8", s, once)
		}
		if strings.Contains(fault.Scrub(s+" "+key), key) {
			t.Fatalf("Scrub after %q leaves a key", s)
		}
		const password = "http://me:pa$$w0rd!7@host"
		if strings.Contains(fault.Scrub(s+" "+password), "pa$$w0rd") {
			t.Fatalf("Scrub after %q leaves a password", s)
		}
	})
}
