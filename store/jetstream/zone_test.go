package jetstream_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/store/jetstream"
)

// The NATS server refuses all clients where the local time zone is a day from UTC or more; the error names that.
func TestOpen_ZoneADayFromUTCIsNamed(t *testing.T) {
	local := time.Local
	defer func() { time.Local = local }()
	for hours, fits := range map[int]bool{-23: true, 23: true, 24: false, -30: false} {
		time.Local = time.FixedZone("ODD", hours*3600)
		s, err := jetstream.Open(t.Context(), jetstream.Config{Dir: t.TempDir()})
		if (err == nil) != fits || err != nil && (!strings.Contains(err.Error(), "ODD") || !strings.Contains(err.Error(), "TZ")) {
			t.Errorf("open a store %d hours from UTC: %v; want that it opens: %v, else the zone and TZ in the error", hours, err, fits)
		}
		if err == nil {
			_ = s.Close(t.Context())
		}
	}
}
