package chat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/atomicfile"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
)

// summary is what a list shows of a conversation, in a file beside its store. It is valid until the store is
// opened again, which changes the time of its lock.
type summary struct {
	View     conversation.View
	WorkDir  string    // the working directory in which the conversation was created
	HasInput bool      // the conversation has inputs
	Open     bool      // written while the conversation was open: more may have happened
	Opened   time.Time // when the store was last opened
}

const summaryName = "summary.json"

// readSummary reads the summary in the directory of a conversation.
func readSummary(dir string) (s summary, err error) {
	if dir == "" {
		return s, os.ErrNotExist
	}
	text, err := os.ReadFile(filepath.Join(dir, summaryName))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(text, &s)
}

// write replaces the summary in a directory.
func (s summary) write(dir string) error {
	if dir == "" {
		return nil
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, summaryName), text)
}

// upToDate reports whether the store has not been opened since the summary was written.
func (s summary) upToDate(dir string) bool { return !s.Open && s.Opened.Equal(lastOpened(dir)) }

// lastOpened is when the store was last opened.
func lastOpened(dir string) time.Time {
	info, err := os.Stat(filepath.Join(dir, "lock"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// entry is the summary of the conversation id in a list.
func (s summary) entry(id string) tui.Entry {
	s.View.ID = id
	return tui.Entry{View: s.View, Folder: s.WorkDir}
}

// shorten drops the parts of a view that may be long and that a list does not show.
func shorten(v conversation.View) conversation.View {
	v.Settings.System, v.Inputs = "", nil
	return v
}
