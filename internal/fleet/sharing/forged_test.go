package sharing_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A replica of another version, or any user of the NATS servers, says each second that all has failed, and is to wait for
// a day. Calls that are answered continue.
func TestSharing_ForgedOutagesHoldNoCallThatIsAnswered(t *testing.T) {
	const day = 24 * time.Hour
	for _, scope := range []string{
		`"Level":"host"`,
		`"Level":"host","Model":"opus"`,
		`"Level":"model","Model":"opus"`,
		`"Level":"credential","Model":"opus","Credential":"key"`,
		`"Level":"credential"`,
		`"Level":"everything","Since":"2026-01-02T15:04:05Z"`,
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
				circuit := fmt.Sprintf(`{"Upstream":"up",%s,"What":"failed","Age":%d,"Begun":%d,"Wait":%d,"Probes":-7,"Waiting":9223372036854775807,"Mood":"bad",`+
					`"Fault":{"kind":"rate-limited","status":429,"wait":%d,"resets":%d}}`, scope, day, day, day, day, day)
				limit := `{"Base":"up","Limits":[{"Name":"requests","Unit":0,"Limit":-1,"Remaining":1e300,"Reset":1,"Seen":1}],"Demand":{"Requests":1e300}}`
				send("alive", fmt.Sprintf(`{"heads":{"circuits":%d},"puts":[
					{"map":"circuits","after":0,"to":%d,"puts":[{"key":"up\t%d","value":%s,"number":%d,"ttl":%d,"age":-5}]},
					{"map":"loads","after":0,"to":1,"puts":[{"key":"up","value":{"Usual":1e300,"Peak":-1,"Retries":1e300},"number":%d,"ttl":%d}]},
					{"map":"limits","after":0,"to":1,"puts":[{"key":"up","value":%s,"number":%d,"ttl":%d}]}]}`, i, i+1, i, circuit, i+1, day, i+1, day, limit, i+1, day))
				send("outages", `{"upstream":"up","news":[`+circuit+`]}`)
				for _, r := range w.replica {
					if err := r.ask(t.Context()); err != nil {
						t.Fatalf("ask: %v", err)
					}
				}
				time.Sleep(time.Second)
			}
			if took := time.Since(began); took > 4*time.Minute+10*time.Second { // three calls of a second each, and a second
				t.Errorf("%s: 60 rounds of calls have taken %v, want four minutes", scope, took)
			}
		})
	}
}
