package engine

// SyncAlways tells whether the server in the process has every write on the
// disk before it says so.
func SyncAlways(e Engine) bool { return e.(*store).own.server.JetStreamConfig().SyncAlways }

// SetSpace says what is free on the disk.
func SetSpace(e Engine, free int64) {
	h := e.(*store).own
	h.guard.space = func(string) (int64, error) { return free, nil }
	h.guard.seen.Store(nil)
}

// Break makes the server look like one whose disk has failed.
func Break(e Engine) { e.(*store).own.log.Errorf("Critical write error: %s", "no space left") }
