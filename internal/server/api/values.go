package api

import "time"

// Time returns a time as the API shows it: UTC, in milliseconds. Zero stays zero.
func Time(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Millisecond)
}

// RemainingMs returns the milliseconds from now until t, at least 0; 0 for the zero time.
func RemainingMs(t, now time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(0, t.Sub(now).Milliseconds())
}

// Percent returns a share in whole percent, rounded down: only all of it is 100.
func Percent(share float64) int { return int(100*share + 1e-9) }

// Credential returns how a credential is named that the gateway knows by a digest: by its first characters, which
// tell a few of them apart.
func Credential(digest string) string {
	const own, shown = "own", 5
	if digest == own {
		return own
	}
	return digest[:min(len(digest), shown)] + "…"
}
