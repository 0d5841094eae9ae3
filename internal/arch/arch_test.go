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
	{floor: 0, path: "internal/brief"},
	{floor: 0, path: "fault", uses: "internal/brief"},
	{floor: 0, path: "internal/sse"},
	{floor: 0, path: "fault/classify", uses: "internal/sse fault"},
	{floor: 0, path: "policy", uses: "fault"},
	{floor: 0, path: "internal/dialect", uses: "internal/sse fault"},
	{floor: 0, path: "internal/seam", uses: "internal/dialect"},
	{floor: 0, path: "internal/cursor", uses: "internal/dialect"},
	{floor: 0, path: "llm"},
	{floor: 0, path: "turn", uses: "fault llm policy"},
	{floor: 0, path: "wire", uses: "llm turn"},
	{floor: 0, path: "internal/clip"},
	{floor: 0, path: "internal/plural"},
	{floor: 0, path: "internal/prose"},
	{floor: 0, path: "internal/told", uses: "fault internal/clip"},

	// floor 1: may wait, may talk
	{floor: 1, path: "internal/clock"},
	{floor: 1, path: "internal/atomicfile"},
	{floor: 1, path: "internal/lockfile"},
	{floor: 1, path: "retry", uses: "fault fault/classify internal/clock policy"},
	{floor: 1, path: "breaker", uses: "fault internal/clock retry"},
	{floor: 1, path: "ratelimit", uses: "fault/classify internal/clock internal/brief"},
	{floor: 1, path: "internal/coding"},
	{floor: 1, path: "internal/latency"},
	{floor: 1, path: "internal/preamble", uses: "turn"},
	{floor: 1, path: "transport", uses: "ratelimit internal/seam internal/coding internal/dialect internal/latency internal/preamble fault fault/classify breaker policy retry"},
	{floor: 1, path: "internal/socket"},
	{floor: 1, path: "internal/http1", uses: "internal/socket"},
	{floor: 1, path: "internal/cork", uses: "internal/socket"},
	{floor: 1, path: "internal/await"},
	{floor: 1, path: "internal/receive"},
	{floor: 1, path: "internal/send"},
	{floor: 1, path: "internal/redact"},
	{floor: 1, path: "internal/route", uses: "fault policy"},

	// floor 2: third-party parts come in here
	{floor: 2, path: "internal/spool", parts: "github.com/klauspost/compress"},
	{floor: 2, path: "internal/sigv4", parts: "github.com/aws/aws-sdk-go-v2"},
	{floor: 2, path: "internal/responses", uses: "internal/sse internal/dialect internal/send", parts: "github.com/coder/websocket"},
	{floor: 2, path: "gateway", uses: "internal/await internal/brief internal/clip internal/plural internal/dialect internal/seam internal/cursor internal/preamble fault fault/classify llm turn breaker policy ratelimit retry transport internal/coding internal/cork internal/http1 internal/receive internal/redact internal/send internal/route internal/spool internal/responses internal/told"},
	{floor: 2, path: "provider", uses: "internal/sse internal/dialect fault fault/classify llm transport"},
	{floor: 2, path: "provider/internal/client", uses: "internal/sse internal/dialect provider"},
	{floor: 2, path: "provider/anthropic", uses: "internal/dialect fault/classify llm provider provider/internal/client"},
	{floor: 2, path: "provider/gemini", uses: "internal/dialect fault fault/classify llm provider provider/internal/client"},
	{floor: 2, path: "provider/openai", uses: "internal/dialect fault fault/classify llm provider provider/internal/client"},
	{floor: 2, path: "provider/lmstudio", uses: "fault/classify provider/openai"},
	{floor: 2, path: "provider/ollama", uses: "internal/dialect fault fault/classify llm provider provider/internal/client"},
	{
		floor: 2, path: "tool", uses: "llm turn",
		parts: "github.com/google/jsonschema-go",
	},
	{
		floor: 2, path: "tool/mcp", uses: "fault llm policy retry tool turn",
		parts: "github.com/modelcontextprotocol/go-sdk",
	},
	{floor: 2, path: "agent", uses: "internal/seam fault internal/preamble internal/route llm policy retry tool turn"},
	{floor: 2, path: "council", uses: "agent internal/plural internal/route fault fault/classify breaker llm policy retry turn wire"},
	{floor: 2, path: "store/internal/limit"},
	{floor: 2, path: "store/internal/disk"},
	{
		floor: 2, path: "store/internal/blocks", uses: "internal/atomicfile",
		parts: "github.com/minio/highwayhash",
	},
	{floor: 2, path: "store", uses: "store/internal/limit"},
	{floor: 2, path: "internal/largevalue", uses: "store"},
	{floor: 2, path: "store/storetest", uses: "store", parts: "github.com/google/go-cmp"},
	{
		floor: 2, path: "store/jetstream", uses: "internal/atomicfile internal/lockfile store store/internal/blocks store/internal/disk store/internal/limit",
		parts: "github.com/nats-io/nats-server github.com/nats-io/nats.go",
	},
	{floor: 2, path: "internal/natstest", parts: "github.com/nats-io/nats-server"},
	{floor: 2, path: "store/background", uses: "store retry"},
	{floor: 2, path: "internal/fleet", uses: "internal/clock"},
	{floor: 2, path: "internal/fleet/fleettest", uses: "internal/fleet"},
	{floor: 2, path: "internal/fleet/sharing", uses: "breaker internal/clock internal/fleet internal/told ratelimit"},
	{floor: 2, path: "internal/fleet/storelink", uses: "internal/fleet retry store"},
	{floor: 2, path: "conversation", uses: "agent store fault breaker llm policy retry tool turn wire"},

	// floor 3: faces, and what we test with
	{floor: 3, path: "internal/arch"},
	{floor: 3, path: "internal/manual"},
	{floor: 3, path: "internal/cast", parts: "github.com/creack/pty"},
	{floor: 3, path: "internal/operation/logging"},
	{floor: 3, path: "internal/operation/sdnotify"},
	{floor: 3, path: "internal/operation/service"},
	{floor: 3, path: "internal/operation/reload"},
	{floor: 3, path: "internal/operation/access"},
	{floor: 3, path: "internal/operation/metrics"},
	{floor: 3, path: "internal/operation/tenant", uses: "ratelimit internal/operation/access internal/operation/metrics"},
	{floor: 3, path: "internal/operation/replica", uses: "gateway internal/clock internal/fleet internal/largevalue internal/told internal/operation/tenant policy ratelimit store turn"},
	{floor: 3, path: "internal/lab/simulator", parts: "github.com/aws/aws-sdk-go-v2"},
	{floor: 3, path: "internal/conform", uses: "internal/dialect"},
	{floor: 3, path: "llm/llmtest", uses: "fault fault/classify llm policy retry transport internal/lab/simulator"},
	{floor: 3, path: "internal/terminal/printable"},
	{floor: 3, path: "internal/operation/notify", uses: "internal/clip internal/plural internal/brief fault fault/classify policy retry"},
	{floor: 3, path: "internal/operation/statusfeed"},
	{
		floor: 3, path: "internal/operation/config", uses: "internal/brief fault fault/classify policy gateway internal/sigv4 internal/operation/access internal/operation/notify internal/operation/reload internal/operation/statusfeed internal/terminal/printable",
		parts: "github.com/goccy/go-yaml",
	},
	{floor: 3, path: "internal/operation/history", uses: "internal/brief internal/plural internal/atomicfile internal/clip internal/latency breaker fault gateway retry transport turn"},
	{floor: 3, path: "internal/operation/history/historykv", uses: "internal/largevalue internal/operation/history store"},
	{floor: 3, path: "internal/operation/alerts", uses: "breaker internal/operation/history internal/operation/notify internal/operation/statusfeed internal/terminal/printable"},
	{floor: 3, path: "internal/server/api", uses: "llm turn wire"},
	{floor: 3, path: "internal/operation/archive", uses: "internal/atomicfile store"},
	{floor: 3, path: "internal/server/views", uses: "conversation fault llm policy store turn wire internal/server/api"},
	{floor: 3, path: "internal/server/client", uses: "conversation fault llm policy retry store turn wire internal/operation/access internal/operation/archive internal/server/api internal/server/views"},
	{floor: 3, path: "internal/operation/doctor", uses: "fault"},
	{floor: 3, path: "internal/operation/storecheck", uses: "internal/plural store conversation internal/operation/archive internal/operation/doctor"},
	{
		floor: 3, path: "internal/app",
		uses: "internal/await fault/classify agent council gateway internal/operation/config store store/background store/jetstream transport breaker llm policy retry provider provider/anthropic provider/gemini provider/lmstudio provider/ollama provider/openai conversation tool tool/mcp",
	},
	{floor: 3, path: "internal/terminal/display", uses: "internal/brief internal/plural internal/terminal/printable fault llm policy turn"},
	{floor: 3, path: "internal/terminal/members", uses: "internal/plural internal/terminal/display internal/terminal/printable council fault llm"},
	{
		floor: 3, path: "internal/terminal/tui", uses: "internal/atomicfile internal/plural store policy llm conversation turn wire internal/terminal/display internal/terminal/printable",
		parts: "charm.land/bubbles charm.land/bubbletea charm.land/lipgloss " +
			"github.com/charmbracelet/colorprofile github.com/charmbracelet/ultraviolet github.com/charmbracelet/x",
	},
	{floor: 3, path: "internal/terminal/chat", uses: "internal/atomicfile store store/jetstream retry conversation turn wire internal/server/client internal/terminal/tui"},
	{floor: 3, path: "internal/server/web"},
	{floor: 3, path: "internal/server/description"},
	{floor: 3, path: "internal/server/audit", uses: "internal/operation/logging"},
	{floor: 3, path: "internal/server/rest", uses: "internal/clip internal/server/api"},
	{floor: 3, path: "internal/server/stream", uses: "wire internal/await internal/send internal/server/rest"},
	{floor: 3, path: "internal/server/feed", uses: "gateway turn wire internal/server/api internal/server/stream"},
	{
		floor: 3, path: "internal/server/live",
		uses: "internal/plural internal/operation/access internal/server/audit fault breaker policy gateway wire internal/operation/history internal/operation/statusfeed internal/server/api internal/server/rest internal/server/stream internal/server/feed ratelimit transport",
	},
	{
		floor: 3, path: "internal/server",
		uses: "internal/cork breaker internal/fleet gateway internal/operation/access internal/server/audit internal/dialect internal/receive fault fault/classify policy ratelimit turn internal/operation/history internal/operation/statusfeed internal/operation/tenant internal/server/rest internal/server/stream internal/server/feed internal/server/description internal/server/live",
	},
	{
		floor: 3, path: "internal/server/conversations", uses: "breaker gateway internal/operation/archive internal/operation/history internal/send internal/server/audit conversation llm store turn wire internal/server/api internal/server/rest internal/server/stream internal/server/live internal/server/views",
		parts: "github.com/coder/websocket",
	},
	{floor: 3, path: "internal/server/councils", uses: "agent conversation council turn wire internal/server/api internal/server/rest internal/server/stream"},
	{floor: 3, path: "internal/operation/cgroup"},
	{floor: 3, path: "internal/operation/collector"},
	{floor: 3, path: "internal/operation/watchdog"},
	{floor: 3, path: "internal/operation/telemetry/tracing"},
	{floor: 3, path: "internal/operation/telemetry/tracing/tracingtest", uses: "internal/operation/telemetry/tracing"},
	{floor: 3, path: "internal/operation/telemetry/otlp", uses: "fault/classify internal/operation/telemetry/tracing policy retry"},
	{floor: 3, path: "internal/operation/telemetry", uses: "internal/brief internal/fleet internal/operation/tenant internal/operation/metrics internal/operation/telemetry/otlp internal/operation/telemetry/tracing breaker fault gateway internal/operation/history policy turn"},
	{floor: 3, path: "internal/operation/turns", uses: "agent conversation fault gateway internal/operation/telemetry turn"},
	{floor: 3, path: "internal/lab", uses: "internal/fleet internal/fleet/sharing fault fault/classify breaker policy ratelimit retry internal/clock internal/prose internal/brief internal/operation/config"},
	{floor: 3, path: "internal/cli/command", uses: "internal/operation/logging internal/terminal/printable", parts: "golang.org/x/term"},
	{floor: 3, path: "internal/cli/settingsfile"},
	{floor: 3, path: "internal/cli/recipe", uses: "internal/cli/settingsfile"},
	{floor: 3, path: "internal/cli/running", uses: "internal/cli/command internal/operation/access"},
	{floor: 3, path: "internal/cli/screen", uses: "internal/cli/command internal/terminal/printable", parts: "golang.org/x/term"},
	{floor: 3, path: "internal/cli/outlook", uses: "internal/plural internal/brief policy"},
	{floor: 3, path: "internal/cli/configflags", uses: "fault/classify gateway internal/cli/command internal/operation/access internal/operation/config internal/operation/notify policy", parts: "github.com/spf13/cobra"},
	{floor: 3, path: "internal/cli/datadir", uses: "internal/cli/command", parts: "github.com/spf13/cobra"},
	{floor: 3, path: "internal/cli/storeflags", uses: "internal/cli/command internal/cli/datadir store store/background store/jetstream", parts: "github.com/spf13/cobra"},
	{
		floor: 3, path: "internal/cli/gatewaycmd", // and neither agent, store nor app: a program with the gateway alone is made of it
		uses: "internal/plural fault fault/classify gateway internal/atomicfile internal/lockfile internal/cli/command internal/cli/datadir internal/cli/configflags internal/cli/outlook internal/cli/recipe internal/cli/screen internal/dialect internal/lab internal/redact " +
			"internal/conform internal/lab/simulator internal/operation/access internal/operation/alerts internal/operation/collector internal/operation/config internal/operation/doctor internal/operation/history internal/operation/logging internal/operation/notify internal/operation/sdnotify internal/operation/telemetry " +
			"internal/operation/watchdog internal/server internal/server/audit internal/server/feed internal/server/web internal/sse internal/terminal/display internal/terminal/printable policy retry turn",
		parts: "github.com/spf13/cobra",
	},
	{
		floor: 3, path: "internal/cli/labcmd",
		uses: "internal/plural internal/cli/command internal/cli/configflags internal/cli/outlook internal/cli/screen internal/lab " +
			"internal/lab/simulator internal/operation/config policy",
		parts: "github.com/spf13/cobra",
	},
	{
		floor: 3, path: "internal/cli/agentcmd",
		uses: "breaker internal/fleet internal/fleet/sharing internal/fleet/storelink fault/classify agent conversation council fault internal/app internal/cli/command internal/cli/datadir internal/cli/configflags internal/cli/gatewaycmd internal/cli/outlook " +
			"internal/cli/screen internal/cli/storeflags internal/operation/archive internal/operation/config internal/operation/history internal/operation/history/historykv internal/operation/replica internal/operation/telemetry internal/operation/turns " +
			"internal/operation/logging internal/server internal/server/api internal/server/audit internal/server/client internal/server/conversations internal/server/councils internal/server/description internal/server/feed internal/terminal/chat internal/terminal/display internal/terminal/members internal/terminal/printable internal/terminal/tui " +
			"llm policy ratelimit store store/background turn wire",
		parts: "github.com/spf13/cobra",
	},
	{
		floor: 3, path: "internal/cli/storecmd",
		uses: "conversation gateway internal/app internal/lockfile internal/cli/command internal/cli/datadir internal/cli/configflags internal/cli/gatewaycmd internal/cli/storeflags " +
			"internal/operation/archive internal/operation/config internal/operation/doctor internal/operation/storecheck internal/server/api internal/server/client internal/server/views internal/terminal/printable store store/jetstream",
		parts: "github.com/spf13/cobra",
	},
	{
		floor: 3, path: "internal/cli/setupcmd",
		uses:  "internal/atomicfile internal/cli/command internal/cli/configflags internal/cli/recipe internal/cli/running internal/cli/settingsfile internal/operation/config",
		parts: "github.com/spf13/cobra",
	},
	{
		floor: 3, path: "internal/cli/servicecmd",
		uses:  "internal/atomicfile internal/cli/command internal/cli/configflags internal/cli/running internal/operation/service internal/plural internal/terminal/display",
		parts: "github.com/spf13/cobra",
	},
	{
		floor: 3, path: "internal/cli/statuscmd",
		uses:  "internal/cli/command internal/cli/configflags internal/cli/running internal/cli/screen internal/plural internal/terminal/display internal/terminal/printable",
		parts: "github.com/spf13/cobra",
	},
	{
		floor: 3, path: "internal/cli/execcmd",
		uses:  "internal/cli/command internal/cli/configflags internal/cli/datadir internal/cli/gatewaycmd internal/cli/recipe internal/cli/running internal/operation/notify internal/plural internal/sse internal/terminal/display internal/terminal/printable",
		parts: "github.com/spf13/cobra",
	},
	{
		floor: 3, path: "internal/cli/program",
		uses:  "internal/cli/command internal/cli/execcmd internal/cli/gatewaycmd internal/cli/labcmd internal/cli/servicecmd internal/cli/setupcmd internal/cli/statuscmd internal/operation/cgroup internal/operation/config internal/operation/logging internal/terminal/printable",
		parts: "github.com/spf13/cobra github.com/spf13/pflag",
	},
	{
		floor: 3, path: "internal/cli",
		uses:  "internal/cli/agentcmd internal/cli/command internal/cli/program internal/cli/storecmd",
		parts: "github.com/spf13/cobra",
	},
	{floor: 3, path: "internal/cli/manpage", uses: "internal/cli internal/cli/command internal/cli/program", parts: "github.com/spf13/cobra github.com/spf13/pflag"},
	{floor: 3, path: "cmd/ridethrough", uses: "internal/cli"},
	{floor: 3, path: "cmd/ridethrough-gateway", uses: "internal/cli/program"},

	// what others' programs make of it
	{floor: 3, path: "test/npm"},
	{floor: 3, path: "test/release"},
	{floor: 3, path: "test/browser"},

	// what it costs: beside the house, in processes of its own
	{floor: 3, path: "bench/internal/calls"},
	{floor: 3, path: "bench/internal/figure"},
	{floor: 3, path: "bench/internal/load"},
	{floor: 3, path: "bench/internal/peer"},
	{floor: 3, path: "bench/internal/proc", parts: "golang.org/x/sys/unix"},
	{floor: 3, path: "bench/internal/profiled", uses: "internal/cli"},
	{
		floor: 3, path: "bench",
		uses:  "policy retry transport internal/prose bench/internal/figure bench/internal/load bench/internal/peer bench/internal/proc",
		parts: "github.com/goccy/go-yaml",
	},
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
	{"internal/send", "AfterFunc", "gives up a client that reads nothing"},
	{"internal/preamble", "AfterFunc", "gives up a gateway that holds a request and says nothing"},
	{"internal/http1", "AfterFunc", "closes connections that stay unused in the pool"},
	{"agent", "AfterFunc", "ends the patience with a gateway that holds the turn"},
	{"agent", "NewTicker", "tells that a turn still waits"},
	{"council", "AfterFunc", "ends the grace of members that have not answered"},
	{"council", "NewTicker", "reports that a member is still being asked"},
	{"store", "AfterFunc", "makes scheduled jobs due, and expires leases and entries in memory"},
	{"store/jetstream", "NewTimer", "repeats a request while servers elect a leader or do not answer"},
	{"conversation", "NewTicker", "says that a claim is being worked on"},
	{"gateway", "AfterFunc", "sends keepalives to a client whose request waits"},
	{"gateway", "NewTimer", "asks whether an answer in the background is complete"},
	{"internal/cork", "AfterFunc", "writes a record that no other one has followed"},
	{"internal/natstest", "NewTicker", "asks whether servers have elected a leader"},
	{"internal/lab/simulator", "NewTimer", "a provider that dawdles on command"},
	{"llm/llmtest", "NewTimer", "a scripted model that takes its time"},
	{"internal/operation/config", "NewTicker", "looks whether the file has changed"},
	{"internal/operation/alerts", "NewTicker", "looks whether incidents have begun or ended"},
	{"internal/operation/history", "NewTicker", "writes what was measured into its file"},
	{"internal/operation/history/historykv", "NewTicker", "writes it into the store, and reads what others write"},
	{"internal/operation/history/historykv", "NewTimer", "a reader waits for the first of that"},
	{"internal/operation/logging", "NewTimer", "writes again what could not be written, and ends the last write"},
	{"internal/server/conversations", "NewTicker", "checks that a client of a WebSocket is still there"},
	{"internal/server/feed", "AfterFunc", "publishes that a request still waits"},
	{"internal/server/live", "NewTicker", "refreshes a list that has readers"},
	{"internal/operation/telemetry/tracing", "NewTicker", "exports the spans that have ended"},
	{"internal/server/stream", "NewTimer", "keeps a silent stream of events alive"},
	{"internal/server/client", "AfterFunc", "ends a connection of which nothing is heard"},
	{"internal/terminal/tui", "After", "quits though the conversation does not close"},
	{"internal/cli/gatewaycmd", "AfterFunc", "handles events a little later"},
	{"internal/cli/gatewaycmd", "NewTicker", "redraws the time that is left, and looks for frozen loops"},
	{"internal/cli/agentcmd", "AfterFunc", "bounds how long a server may take to stop a turn"},
	{"internal/cli/execcmd", "NewTicker", "redraws the time that is left, and reads on where a stream has ended"},
	{"internal/cli/statuscmd", "NewTicker", "redraws the time that is left"},
	{"internal/cli/agentcmd", "NewTicker", "redraws the time that is left"},
	{"bench", "NewTimer", "measures for so long"},
	{"bench/internal/load", "Sleep", "clients that come when they are due"},
	{"bench/internal/peer", "NewTimer", "a stream that comes piece by piece"},
	{"bench/internal/proc", "After", "ends a process by force that does not end when asked to"},
	{"bench/internal/proc", "Sleep", "waits for a process to listen"},
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
