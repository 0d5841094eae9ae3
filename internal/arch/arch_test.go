package arch_test

import (
	"os"
	"strings"
	"testing"
)

// house has a row for every package of the module, in the order of the floors.
// A package may import the rows it names, which stand above its own.
var house = []row{
	// floor 0: arithmetic and vocabulary, in the words below
	{floor: 0, path: "internal/text"},
	{floor: 0, path: "fault", uses: "internal/text"},
	{floor: 0, path: "internal/sse"},
	{floor: 0, path: "policy", uses: "fault"},
	{floor: 0, path: "internal/api", uses: "internal/sse fault"},
	{floor: 0, path: "fault/classify", uses: "internal/api internal/sse fault"},
	{floor: 0, path: "internal/api/anthropic", uses: "internal/api fault"},
	{floor: 0, path: "internal/api/openai", uses: "internal/api fault"},
	{floor: 0, path: "internal/api/gemini", uses: "internal/api fault"},
	{floor: 0, path: "internal/api/cohere", uses: "internal/api"},
	{floor: 0, path: "internal/api/ollama", uses: "internal/api"},
	{floor: 0, path: "internal/api/lmstudio", uses: "internal/api fault"},
	{floor: 0, path: "internal/api/bedrock", uses: "internal/api internal/api/anthropic internal/api/openai fault"},
	{
		floor: 0, path: "internal/api/registry",
		uses: "internal/api internal/api/anthropic internal/api/bedrock internal/api/cohere internal/api/gemini internal/api/lmstudio internal/api/ollama internal/api/openai",
	},
	{floor: 0, path: "llm"},
	{floor: 0, path: "turn", uses: "fault llm policy"},
	{floor: 0, path: "wire", uses: "llm turn"},

	// floor 1: may wait, may talk
	{floor: 1, path: "internal/clock"},
	{floor: 1, path: "internal/disk"},
	{floor: 1, path: "retry", uses: "fault fault/classify internal/clock policy"},
	{floor: 1, path: "breaker", uses: "fault internal/clock retry"},
	{floor: 1, path: "ratelimit", uses: "fault fault/classify internal/api internal/clock internal/text"},
	{floor: 1, path: "internal/latency"},
	{floor: 1, path: "internal/preamble", uses: "turn"},
	{floor: 1, path: "internal/cork"},
	{floor: 1, path: "internal/hangup"},
	{floor: 1, path: "internal/exchange"},
	{floor: 1, path: "internal/route", uses: "fault policy"},

	// floor 2: third-party parts come in here
	{floor: 2, path: "internal/coding", parts: "github.com/andybalholm/brotli github.com/klauspost/compress"},
	{floor: 2, path: "transport", uses: "ratelimit internal/coding internal/api internal/api/ollama internal/api/openai internal/api/registry internal/latency internal/preamble fault fault/classify breaker policy retry"},
	{floor: 2, path: "internal/redact", uses: "fault internal/coding"},
	{floor: 2, path: "internal/spool", parts: "github.com/klauspost/compress"},
	{floor: 2, path: "internal/sigv4", parts: "github.com/aws/aws-sdk-go-v2"},
	{floor: 2, path: "internal/responses", uses: "internal/sse internal/api internal/api/openai internal/exchange", parts: "github.com/coder/websocket"},
	{floor: 2, path: "gateway", uses: "internal/clock internal/text internal/api internal/api/anthropic internal/api/bedrock internal/api/cohere internal/api/gemini internal/api/lmstudio internal/api/ollama internal/api/openai internal/api/registry internal/preamble fault fault/classify llm turn breaker policy ratelimit retry transport internal/coding internal/cork internal/hangup internal/redact internal/exchange internal/route internal/spool internal/responses"},
	{floor: 2, path: "provider", uses: "internal/sse internal/api internal/api/anthropic internal/api/gemini internal/api/ollama internal/api/openai internal/preamble internal/redact fault fault/classify llm transport"},
	{
		floor: 2, path: "tool", uses: "llm turn",
		parts: "github.com/google/jsonschema-go",
	},
	{
		floor: 2, path: "tool/mcp", uses: "fault llm policy retry tool turn",
		parts: "github.com/modelcontextprotocol/go-sdk",
	},
	{floor: 2, path: "agent", uses: "internal/api fault internal/preamble internal/route llm policy retry tool turn"},
	{floor: 2, path: "council", uses: "agent internal/text internal/route fault fault/classify breaker llm policy retry turn wire"},
	{floor: 2, path: "store/internal/limit"},
	{floor: 2, path: "store", uses: "store/internal/limit"},
	{floor: 2, path: "store/storetest", uses: "store", parts: "github.com/google/go-cmp"},
	{
		floor: 2, path: "store/bolt", uses: "internal/disk store store/internal/limit",
		parts: "go.etcd.io/bbolt",
	},
	{
		floor: 2, path: "store/nats", uses: "store store/internal/limit",
		parts: "github.com/nats-io/nats.go",
	},
	{floor: 2, path: "internal/natstest", parts: "github.com/nats-io/nats-server golang.org/x/sys/unix"},
	{floor: 2, path: "store/background", uses: "store retry"},
	{floor: 2, path: "internal/fleet", uses: "internal/clock"},
	{floor: 2, path: "internal/fleet/sharing", uses: "breaker internal/fleet ratelimit"},
	{floor: 2, path: "conversation", uses: "agent internal/text store fault breaker llm policy retry tool turn wire"},

	// floor 3: faces, and what we test with
	{floor: 3, path: "internal/arch"},
	{floor: 3, path: "internal/operation/logging"},
	{floor: 3, path: "internal/operation/access"},
	{floor: 3, path: "internal/operation/metrics", parts: "github.com/prometheus/client_golang"},
	{floor: 3, path: "internal/operation/tenant", uses: "ratelimit internal/operation/access internal/operation/metrics"},
	{floor: 3, path: "internal/operation/replica", uses: "breaker gateway internal/clock internal/fleet internal/operation/tenant store"},
	{floor: 3, path: "internal/lab/simulator", uses: "internal/api internal/api/anthropic internal/api/bedrock internal/api/cohere internal/api/gemini internal/api/lmstudio internal/api/ollama internal/api/openai"},
	{floor: 3, path: "llm/llmtest", uses: "fault fault/classify llm policy retry transport internal/lab/simulator"},
	{floor: 3, path: "internal/terminal/printable"},
	{floor: 3, path: "internal/operation/history", uses: "internal/disk internal/fleet internal/text internal/latency breaker fault gateway retry transport turn"},
	{floor: 3, path: "internal/operation/notify", uses: "breaker internal/operation/history internal/terminal/printable internal/text fault fault/classify policy retry"},
	{
		floor: 3, path: "internal/operation/config", uses: "internal/text fault fault/classify policy gateway internal/sigv4 internal/operation/access internal/operation/notify internal/terminal/printable",
		parts: "github.com/goccy/go-yaml github.com/google/jsonschema-go",
	},
	{floor: 3, path: "internal/server/api", uses: "llm turn wire"},
	{floor: 3, path: "internal/operation/transfer", uses: "internal/disk store"},
	{floor: 3, path: "internal/server/views", uses: "conversation fault llm policy store turn wire internal/server/api"},
	{floor: 3, path: "internal/server/client", uses: "conversation fault llm policy retry store turn wire internal/operation/access internal/operation/transfer internal/server/api internal/server/views"},
	{floor: 3, path: "internal/operation/doctor", uses: "fault"},
	{
		floor: 3, path: "internal/app",
		uses: "internal/text internal/clock fault/classify agent council gateway internal/operation/config store store/background transport breaker llm policy retry provider conversation tool tool/mcp",
	},
	{floor: 3, path: "internal/terminal/display", uses: "internal/text internal/terminal/printable fault llm policy turn"},
	{
		floor: 3, path: "internal/terminal/tui", uses: "internal/disk internal/text store policy llm conversation turn wire internal/terminal/display internal/terminal/printable",
		parts: "charm.land/bubbles charm.land/bubbletea charm.land/lipgloss " +
			"github.com/charmbracelet/colorprofile github.com/charmbracelet/ultraviolet github.com/charmbracelet/x github.com/yuin/goldmark",
	},
	{floor: 3, path: "internal/terminal/chat", uses: "internal/disk store store/bolt retry conversation turn wire internal/server/client internal/terminal/tui"},
	{floor: 3, path: "internal/server/web"},
	{floor: 3, path: "internal/server/rest", uses: "internal/exchange internal/clock wire internal/operation/logging internal/text internal/server/api"},
	{
		floor: 3, path: "internal/server/live",
		uses: "turn internal/text internal/operation/access fault breaker policy gateway wire internal/operation/history internal/operation/notify internal/server/api internal/server/rest ratelimit transport",
	},
	{
		floor: 3, path: "internal/server",
		uses: "internal/cork breaker internal/fleet gateway internal/operation/access internal/api internal/api/openai internal/api/registry internal/exchange fault fault/classify policy ratelimit turn internal/operation/history internal/operation/notify internal/operation/tenant internal/server/rest internal/server/api internal/server/live",
	},
	{
		floor: 3, path: "internal/server/conversations", uses: "council internal/text agent breaker gateway internal/operation/transfer internal/operation/history internal/exchange conversation llm store turn wire internal/server/api internal/server/rest internal/server/live internal/server/views",
		parts: "github.com/coder/websocket",
	},
	{
		floor: 3, path: "internal/operation/telemetry", uses: "internal/text internal/fleet internal/operation/tenant internal/operation/metrics breaker fault fault/classify gateway internal/operation/history policy retry turn",
		parts: "go.opentelemetry.io/otel go.opentelemetry.io/proto/otlp google.golang.org/protobuf",
	},
	{floor: 3, path: "internal/lab", uses: "internal/fleet internal/fleet/sharing fault fault/classify breaker policy ratelimit retry internal/clock internal/text internal/operation/config"},
	{floor: 3, path: "internal/cli/command", uses: "internal/operation/logging internal/terminal/printable internal/text", parts: "golang.org/x/term"},
	{floor: 3, path: "internal/cli/configflags", uses: "internal/text fault fault/classify gateway internal/cli/command internal/operation/access internal/operation/config internal/operation/notify policy", parts: "github.com/spf13/cobra"},
	{
		floor: 3, path: "internal/cli/running",
		uses:  "internal/cli/command internal/cli/configflags internal/operation/access internal/text internal/terminal/display internal/terminal/printable",
		parts: "github.com/spf13/cobra charm.land/bubbletea charm.land/lipgloss github.com/charmbracelet/colorprofile github.com/charmbracelet/x",
	},
	{
		floor: 3, path: "internal/cli/gatewaycmd", // and neither agent, store nor app: exec serves without them
		uses: "internal/text fault fault/classify gateway internal/disk internal/cli/command internal/cli/configflags internal/api internal/api/anthropic internal/api/cohere internal/api/gemini internal/api/ollama internal/api/openai internal/lab internal/redact " +
			"internal/lab/simulator internal/operation/access internal/operation/config internal/operation/doctor internal/operation/history internal/operation/logging internal/operation/notify internal/operation/telemetry " +
			"internal/server internal/server/rest internal/server/live internal/server/web internal/sse internal/terminal/display internal/terminal/printable policy retry turn",
		parts: "github.com/coreos/go-systemd github.com/spf13/cobra",
	},
	{
		floor: 3, path: "internal/cli/labcmd",
		uses: "internal/text internal/cli/command internal/cli/configflags internal/lab " +
			"internal/lab/simulator internal/operation/config policy",
		parts: "github.com/spf13/cobra",
	},
	{
		floor: 3, path: "internal/cli/storecmd",
		uses: "internal/text conversation gateway internal/app internal/disk internal/cli/command internal/cli/configflags " +
			"internal/operation/transfer internal/operation/config internal/operation/doctor internal/server/api internal/server/client internal/server/views internal/terminal/printable store store/background store/bolt store/nats",
		parts: "github.com/spf13/cobra",
	},
	{
		floor: 3, path: "internal/cli/agentcmd",
		uses: "gateway internal/text retry breaker internal/fleet internal/fleet/sharing fault/classify agent conversation council fault internal/app internal/cli/command internal/cli/configflags internal/cli/gatewaycmd " +
			"internal/cli/storecmd internal/operation/transfer internal/operation/config internal/operation/history internal/operation/replica internal/operation/telemetry " +
			"internal/operation/logging internal/server internal/server/api internal/server/rest internal/server/client internal/server/conversations internal/server/live internal/terminal/chat internal/terminal/display internal/terminal/printable internal/terminal/tui " +
			"llm policy ratelimit store store/background turn wire",
		parts: "github.com/spf13/cobra",
	},
	{
		floor: 3, path: "internal/cli/servicecmd",
		uses:  "internal/cli/command internal/cli/configflags internal/cli/running internal/text internal/terminal/display",
		parts: "github.com/spf13/cobra",
	},
	{
		floor: 3, path: "internal/cli/execcmd",
		uses:  "internal/operation/config internal/cli/command internal/cli/configflags internal/cli/gatewaycmd internal/cli/running internal/operation/notify internal/server internal/text internal/sse internal/terminal/display internal/terminal/printable",
		parts: "github.com/spf13/cobra",
	},
	{
		floor: 3, path: "internal/cli",
		uses:  "internal/terminal/printable internal/operation/logging internal/cli/agentcmd internal/cli/command internal/cli/execcmd internal/cli/gatewaycmd internal/cli/labcmd internal/cli/running internal/cli/servicecmd internal/cli/storecmd",
		parts: "github.com/KimMachineGun/automemlimit github.com/spf13/cobra github.com/spf13/pflag",
	},
	{floor: 3, path: "internal/cli/manpage", uses: "internal/cli internal/cli/command", parts: "github.com/spf13/cobra"},
	{floor: 3, path: "cmd/ridethrough", uses: "internal/cli"},

	// what others' programs make of it
	{floor: 3, path: "test/beside", uses: "internal/lab/simulator policy"},
	{floor: 3, path: "test/npm"},
	{floor: 3, path: "test/proxies", uses: "internal/lab/simulator"},
	{floor: 3, path: "test/release"},
	{floor: 3, path: "test/browser"},
}

// words are what floor 0 may say: standard packages, and of each the names as
// patterns of path.Match. What is not listed is out, such as the clock, the
// dice, the network and whatever Go adds next.
var words = map[string]string{
	"bytes":           "*",
	"cmp":             "*",
	"context":         "Context Canceled DeadlineExceeded",
	"crypto/tls":      "*Error",
	"crypto/x509":     "*Error",
	"embed":           "FS", // tables that are part of the program: nothing is read from a disk
	"encoding/base64": "StdEncoding",
	"encoding/binary": "BigEndian LittleEndian",
	"encoding/hex":    "EncodeToString",
	"encoding/json":   "*",
	"errors":          "*",
	"hash/crc32":      "ChecksumIEEE IEEETable Update",
	"crypto/sha256":   "New Size Sum256", // arithmetic
	"hash":            "Hash",
	"hash/maphash":    "Hash Seed Comparable", // with seeds of the caller's
	"io":              "EOF Err*",
	"iter":            "Seq Seq2", // Pull starts a coroutine
	"maps":            "*",
	"math":            "*",
	"net":             "*Error Err*",
	"net/http":        "Header CanonicalHeaderKey ParseTime StatusText Status[A-Z]* Method[A-Z]* Err[A-Z]* MaxBytesError",
	"net/url":         "*",
	"os":              "Err* PathError SyscallError",
	"slices":          "*",
	"strconv":         "*",
	"strings":         "*",
	"sync":            "OnceValue", // a table that is made when it is first asked
	"syscall":         "Errno E[A-Z]*",
	"time": "Time Duration Month Weekday Parse ParseDuration Date Unix UnixMilli UTC RFC[0-9]* " +
		"Nanosecond Microsecond Millisecond Second Minute Hour " +
		"January February March April May June July August September October November December",
	"unicode":       "*",
	"unicode/utf16": "*",
	"unicode/utf8":  "*",
}

// clocks are the packages that set a timer, each with its reason. Package retry is the only one that waits to
// try again.
var clocks = []clock{
	{"internal/clock", "NewTimer", "waits to try again"},
	{"internal/clock", "AfterFunc", "sends the next probe, retry or batch of a slow start on its way"},
	{"transport", "AfterFunc", "ends a try that is silent, and the body of a failure that dawdles"},
	{"internal/exchange", "AfterFunc", "gives up a client that reads nothing"},
	{"internal/preamble", "AfterFunc", "gives up a gateway that holds a request and says nothing"},
	{"agent", "AfterFunc", "ends the patience with a gateway that holds the turn"},
	{"agent", "NewTicker", "tells that a turn still waits"},
	{"council", "AfterFunc", "ends the grace of members that have not answered"},
	{"council", "NewTicker", "reports that a member is still being asked"},
	{"store", "AfterFunc", "makes scheduled jobs due, and expires leases and entries in memory"},
	{"store/bolt", "NewTimer", "waits for the next job that becomes due"},
	{"store/bolt", "AfterFunc", "expires leases"},
	{"store/nats", "NewTimer", "repeats a request while servers elect a leader or do not answer"},
	{"conversation", "NewTicker", "says that a claim is being worked on, and looks for turns without a job"},
	{"gateway", "AfterFunc", "sends keepalives to a client whose request waits"},
	{"internal/cork", "AfterFunc", "writes a record that no other one has followed"},
	{"internal/hangup", "AfterFunc", "looks whether a server that is silent still listens"},
	{"internal/natstest", "NewTicker", "asks whether servers have elected a leader"},
	{"internal/lab/simulator", "NewTimer", "a provider that dawdles on command"},
	{"llm/llmtest", "NewTimer", "a scripted model that takes its time"},
	{"internal/operation/config", "NewTicker", "looks whether the file has changed"},
	{"internal/operation/notify", "NewTicker", "looks whether incidents have begun or ended"},
	{"internal/operation/history", "NewTicker", "writes what was measured into its file, or into the store, and reads what others write"},
	{"internal/operation/logging", "NewTimer", "writes again what could not be written, and ends the last write"},
	{"internal/server/conversations", "NewTicker", "checks that a client of a WebSocket is still there"},
	{"internal/server/live", "AfterFunc", "publishes that a request still waits"},
	{"internal/server/live", "NewTicker", "refreshes a list that has readers"},
	{"internal/server/rest", "NewTimer", "keeps a silent stream of events alive"},
	{"internal/server/client", "AfterFunc", "ends a connection of which nothing is heard"},
	{"internal/terminal/tui", "After", "quits though the conversation does not close"},
	{"internal/cli/gatewaycmd", "NewTicker", "tells systemd what waits, and that no loop has frozen"},
	{"internal/cli/agentcmd", "AfterFunc", "bounds how long a server may take to stop a turn"},
	{"internal/cli/execcmd", "NewTicker", "redraws the time that is left, and reads on where a stream has ended"},
	{"internal/cli/command", "NewTicker", "redraws the time that is left, looks for frozen loops and for memory to be returned"},
}

// TestArchitecture checks the repository against every rule.
func TestArchitecture(t *testing.T) {
	module, err := read(os.DirFS("../.."))
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	for name, r := range rules(house, words, clocks) {
		t.Run(name, func(t *testing.T) {
			if broken := r(module); len(broken) > 0 {
				t.Error(strings.Join(broken, "\n"))
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := read(os.DirFS("../..")); err != nil {
			b.Fatalf("read: %v", err)
		}
	}
}
