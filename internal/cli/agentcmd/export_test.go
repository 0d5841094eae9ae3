package agentcmd

import (
	"io"

	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/internal/cli/screen"
)

// ShowCouncil shows a council on a terminal that has colors and 80 columns.
func ShowCouncil(out, errs io.Writer, judged, answers bool) func(council.Event) {
	shown := &text{out: out, screen: screen.NewLive(errs), unread: func() {}, goOn: func() string { return "" }}
	return (&table{text: shown, judged: judged, answers: answers}).show
}
