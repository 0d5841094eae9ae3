// Package brief writes durations for people.
package brief

import (
	"strings"
	"time"
)

// Duration returns a duration without the zeros that Go appends: "8h", "1m30s".
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
