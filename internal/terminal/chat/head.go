package chat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
)

// head is what a list shows of a conversation, in a file beside its store. It
// tells the truth as long as nobody has opened the store since it was closed:
// who opens it leaves the instant at its lock. So it needs no sync: what a power
// failure makes of it is found out.
type head struct {
	View   conversation.View
	Folder string    // the working directory in which it was begun
	Said   bool      // something was said in it
	Open   bool      // it was written while the conversation was open: more may have happened
	Locked time.Time // when the store was opened last
}

// headName is the file's name.
const headName = "head.json"

// readHead reads the head in the directory of a conversation.
func readHead(dir string) (h head, err error) {
	if dir == "" {
		return h, os.ErrNotExist
	}
	text, err := os.ReadFile(filepath.Join(dir, headName))
	if err != nil {
		return h, err
	}
	return h, json.Unmarshal(text, &h)
}

// write puts the head in its place.
func (h head) write(dir string) error {
	if dir == "" {
		return nil
	}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	next := filepath.Join(dir, headName+".next")
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(dir, headName))
}

// holds tells whether nobody has had the store since.
func (h head) holds(dir string) bool { return !h.Open && h.Locked.Equal(locked(dir)) }

// locked gives the instant at which the store was opened last.
func locked(dir string) time.Time {
	info, err := os.Stat(filepath.Join(dir, "lock"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// entry gives what a list shows.
func (h head) entry(id string) tui.Entry {
	h.View.ID = id
	return tui.Entry{View: h.View, Folder: h.Folder}
}

// brief gives a view without what a list does not show and may be long.
func brief(v conversation.View) conversation.View {
	v.Settings.System, v.Inputs = "", nil
	return v
}
