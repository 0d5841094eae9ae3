package sharing_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A replica of another version, or any user of the NATS servers, says each second that all has failed, and is to wait for
// a day. Calls that are answered continue.
func TestSharing_ForgedOutagesHoldNoCallThatIsAnswered(t *testing.T) {
	const day = 24 * time.Hour
	for _, of := range [][3]string{
		{"host", "", ""}, {"host", "opus", ""}, {"model", "opus", ""}, {"credential", "opus", "key"}, {"credential", "", ""}, {"everything", "", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, 3)
			forger := w.network.Connect("forger")
			send := func(kind, body string) {
				_ = forger.Publish("ridethrough.main.all", fmt.Appendf(nil, `{"from":"forger","version":99,"kind":%q,"body":%s}`, kind, body))
			}
			for _, r := range w.replica {
				_ = r.ask(t.Context())
			}
			began := time.Now()
			for i := range 60 {
				circuit := fmt.Sprintf(`{"Circuit":{"Level":%q,"Model":%q,"Credential":%q},"Since":"2026-01-02T15:04:05Z","What":"failed","Age":%d,"Begun":%d,"Wait":%d,"Probes":-7,"Waiting":9223372036854775807,"Mood":"bad",`+
					`"Fault":{"kind":"rate-limited","status":429,"wait":%d,"resets":%d}}`, of[0], of[1], of[2], day, day, day, day, day)
				limit := `{"Limits":[{"Name":"requests","Unit":"requests","Limit":-1,"Remaining":1e300}],"Demand":{"Requests":1e300}}`
				put := func(key, value string) string {
					return fmt.Sprintf(`{"key":%q,"value":%s,"version":%d,"ttl":%d,"age":-5}`, key, value, i+1, day)
				}
				send("alive", fmt.Sprintf(`{"heads":{"breakers":%d},"puts":[{"map":"breakers","after":0,"to":%d,"puts":[%s,%s]},{"map":"limits","after":0,"to":1,"puts":[%s]}]}`, i, i+1,
					put("up\t"+strings.Join(of[:], "\t"), circuit), put("up\tload", `{"Usual":1e300,"Peak":-1,"Retries":1e300}`), put("up\topus\tkey", limit)))
				send("outages", `{"upstream":"up","news":[`+circuit+`]}`)
				for _, r := range w.replica {
					if err := r.ask(t.Context()); err != nil {
						t.Fatalf("ask: %v", err)
					}
				}
				time.Sleep(time.Second)
			}
			if took := time.Since(began); took > 4*time.Minute+10*time.Second { // three calls of a second each, and a second
				t.Errorf("%v: 60 rounds of calls have taken %v, want four minutes", of, took)
			}
		})
	}
}
