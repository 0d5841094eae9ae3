package agentcmd

import (
	"io"

	"github.com/ridethrough/ridethrough/council"
	"github.com/ridethrough/ridethrough/internal/cli/command"
)

// ShowCouncil shows a council on a terminal that has colors and 80 columns.
func ShowCouncil(out, errs io.Writer, judged, answers bool) func(council.Event) {
	shown := &textView{out: out, screen: command.NewLiveScreen(errs), unread: func() {}, continueCommand: func() string { return "" }}
	return (&councilTable{textView: shown, judged: judged, answers: answers}).show
}
