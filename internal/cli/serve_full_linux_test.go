package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// smallDisk mounts a disk whose size can be changed. Only root can.
type smallDisk struct {
	*testing.T
	dir string
}

func newSmallDisk(t *testing.T) smallDisk {
	t.Helper()
	d := smallDisk{t, t.TempDir()}
	if err := syscall.Mount("none", d.dir, "tmpfs", 0, "size=400m"); err != nil {
		t.Skip("mount: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(d.dir, syscall.MNT_DETACH) })
	return d
}

// resize changes the size of the disk to what is used, and some bytes.
func (d smallDisk) resize(free int) {
	d.Helper()
	var fs syscall.Statfs_t
	err := syscall.Statfs(d.dir, &fs)
	if err == nil {
		size := (int64(fs.Blocks)-int64(fs.Bfree))*fs.Bsize + int64(free)
		err = syscall.Mount("none", d.dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprint("size=", size))
	}
	if err != nil {
		d.Fatalf("resize the disk: %v", err)
	}
}

// wantFull checks that a request is answered with 507.
func (k *talks) wantFull(method, path, body string) {
	k.Helper()
	status, header, text := k.request(method, path, body)
	if status != 507 || header.Get("Retry-After") == "" || !strings.Contains(text, `"code":"store-full"`) {
		k.Errorf("%s %s on a full disk: got %d %s, Retry-After %q; want 507 store-full", method, path, status, text, header.Get("Retry-After"))
	}
}

// The disk of a running serve fills up. New turns are refused with 507 and reading works. With no byte left, the answer
// of the turn in progress waits for space. When there is space again, everything continues without a restart.
func TestServe_FullDiskAnswers507UntilThereIsSpace(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	t.Parallel()
	disk := newSmallDisk(t)
	// The first answer comes at once, the second one when the disk is full.
	k := newTalks(t, filepath.Join(disk.dir, "data"), simulator.Script{
		Replies: []simulator.Reply{simulator.OK, simulator.Silence{For: 4 * time.Second}}, Answer: strings.Repeat("a long answer ", 4<<10),
	})
	k.startGateway()
	k.send("POST", "conversations", `{"id":"c1","model":"anthropic/claude-sonnet"}`, 201)
	k.send("POST", "conversations/c1/turns", `{"id":"t0","text":"question 0."}`, 202)
	k.finish("c1")
	k.send("POST", "conversations/c1/turns", `{"id":"t1","text":"question 1."}`, 202)
	for len(k.provider.Requests()) < 2 {
		<-time.After(10 * time.Millisecond)
	}

	disk.resize(128 << 20) // less than is left free for turns in progress
	k.wantFull("POST", "conversations", `{"id":"c2","model":"anthropic/claude-sonnet"}`)
	k.wantFull("POST", "conversations/c1/turns", `{"id":"t2","text":"question 2."}`)
	disk.resize(0)
	ballast, err := os.Create(filepath.Join(disk.dir, "ballast"))
	for err == nil { // a disk whose size is 0 has no limit, so the file may still get some bytes
		_, err = ballast.Write(make([]byte, 4<<10))
	}
	_ = ballast.Close()
	k.wantFull("POST", "conversations/c1/turns", `{"id":"t2","text":"question 2."}`)
	k.wantFull("GET", "conversations.db", "")
	for _, path := range []string{"conversations", "conversations/c1", "conversations/c1/records", "readyz", "livez", "warnings"} {
		if k.get(path) == "" {
			t.Errorf("GET %s on a full disk: got no answer with 200", path)
		}
	}
	if text := k.get("warnings"); !strings.Contains(text, "the store is full") {
		t.Errorf("warnings: got %s, want that the store is full", text)
	}
	for k.answered.Load() < 2 {
		<-time.After(50 * time.Millisecond)
	}
	<-time.After(time.Second) // the answer waits for space
	if text := k.get("conversations/c1"); !strings.Contains(text, `"turnId":"t1"`) {
		t.Errorf("the turn in progress on a full disk: got %s, want t1", text)
	}

	disk.resize(400 << 20)
	k.send("POST", "conversations/c1/turns", `{"id":"t2","text":"question 2."}`, 202)
	k.finish("c1")
	o := outcome{}
	k.review(&o, "c1", 0, 3)
	if asked := len(k.provider.Requests()); asked != 3 {
		t.Errorf("got %d requests for three turns, want that no answer is asked for again", asked)
	}
	k.end()
	k.wantSoundDirectory()
}
