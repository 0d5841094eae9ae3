package execcmd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDirect_ProgramsBehindAProxyReachThisMachine(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want map[string]string
	}{
		{"without a proxy", map[string]string{"NO_PROXY": "a.example"}, nil},
		{"with a proxy", map[string]string{"HTTPS_PROXY": "http://p:1"}, map[string]string{"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}},
		{
			"what is there stays",
			map[string]string{"http_proxy": "http://p:1", "no_proxy": ".corp.example, localhost"},
			map[string]string{"NO_PROXY": ".corp.example,localhost,127.0.0.1", "no_proxy": ".corp.example,localhost,127.0.0.1"},
		},
		{
			"both spellings stay",
			map[string]string{"ALL_PROXY": "socks5://p:1", "NO_PROXY": "a", "no_proxy": "*"},
			map[string]string{"NO_PROXY": "a,127.0.0.1,localhost", "no_proxy": "*"},
		},
	} {
		if diff := cmp.Diff(c.want, direct(variables(c.env))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
