package live

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A turn that begins to wait in the moment in which a call has ended takes its place in the list.
func TestList_ACallGivesItsPlaceToATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := []item{&callWait{ID: 1}}
		l := &list{one: "wait", all: "waits", load: func() []item { return items }}
		var out bytes.Buffer
		version := l.begin(&out, "snapshot")
		defer l.leave()
		out.Reset()
		items = []item{&TurnWait{Conversation: "c1"}}
		time.Sleep(refreshTime)
		if l.changesSince(version, &out, "snapshot") == version || !strings.Contains(out.String(), `"conversation":"c1"`) || !strings.Contains(out.String(), `{"wait":1}`) {
			t.Errorf("a reader is told %q, want the turn, and that call 1 is gone", out.String())
		}
	})
}
