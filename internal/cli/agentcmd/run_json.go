package agentcmd

import (
	"encoding/json"
	"io"
	"time"

	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// jsonView shows a turn as events, one JSON object per line.
type jsonView struct {
	w      io.Writer
	unread func() // called when they cannot be written any more
	seq    int64

	conversation string // at a server; "": the turn runs here
	server       string // its address; "": likewise
	turn         string // the turn in progress, or the last one

	err error
}

func (l *jsonView) show(e turn.Event) {
	if s, ok := e.(turn.Start); ok {
		l.turn = s.ID
	}
	l.write(wire.Turn{Ref: wire.Ref{ConversationID: l.conversation, TurnID: l.turn}, Event: e})
}

func (l *jsonView) end(status turn.Status, code int, message, saved string) {
	exit := wire.Exit{Status: string(status), ExitCode: code, Message: message, Saved: saved, Server: l.server, ConversationID: l.conversation}
	if exit.ConversationID != "" {
		exit.TurnID = l.turn
	}
	l.write(exit)
}

func (l *jsonView) write(b wire.Body) {
	if l.err != nil {
		return
	}
	l.seq++
	line, err := json.Marshal(wire.Event{Seq: l.seq, Time: time.Now(), Body: b})
	if err == nil {
		_, err = l.w.Write(append(line, '\n'))
	}
	if err != nil {
		l.err = err
		l.unread()
	}
}

func (l *jsonView) broken() error { return l.err }
