package notify

import "time"

// Sample returns a notice of each event, in which every field that the event has is set, and one without models.
func Sample(host string, now time.Time) []Notice {
	n := Notice{
		ID: "20260102-150405-anthropic", Upstream: "anthropic", Models: []string{"claude-opus-5"}, Partial: true, Cause: "overloaded", At: now,
		Began: now.Add(-20 * time.Minute), Lasted: 20 * time.Minute, Tries: 17, Failures: 12, Calls: 6, Held: 1, Lost: 1,
		Vendor: "All Systems Operational", Host: host,
	}
	var all []Notice
	for _, event := range append(Events(), Test) {
		n := n
		switch n.Event = event; event {
		case Ended, Reset:
			n.Ended, n.Recovered = now, true
		case Limit:
			n.Resets = now.Add(2 * time.Hour)
		case Test:
			n = Notice{Event: Test, ID: "test", At: now, Host: host}
		}
		all = append(all, n)
	}
	return all
}
