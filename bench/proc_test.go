package main_test

import (
	"strings"
	"testing"

	main "github.com/ridethrough/ridethrough/bench"
)

const rollup = `559e317ce000-7fff2861c000 ---p 00000000 00:00 0                          [rollup]
Rss:                1744 kB
Pss:                 315 kB
Pss_Dirty:           112 kB
Pss_Anon:            112 kB
`

const tcp = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:2124 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 1668 1 000000000ea988d7 100 0 0 10 0
   1: 0100007F:2124 0100007F:C350 01 00000000:00001000 00:00000000 00000000     0        0 1669 1 000000000ea988d8 20 4 0 10 -1
   2: 0100007F:C350 0100007F:2124 01 00000A00:00000007 00:00000000 00000000     0        0 1670 1 000000000ea988d9 20 4 0 10 -1
   3: 0100007F:2124 0100007F:C351 01 00000000:00000010 00:00000000 00000000     0        0 1671 1 000000000ea988da 20 4 0 10 -1
   4: 0100007F:2124 0100007F:C352 06 00000000:00000000 03:00001000 00000000     0        0 0 3 000000000ea988db
`

func TestParseSize_PSSInBytes(t *testing.T) {
	if got, err := main.ParseSize([]byte(rollup), "Pss"); got != 315*1024 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
}

func TestParseSize_MissingIsAnError(t *testing.T) {
	for _, text := range []string{"", "Pss_Dirty: 112 kB\n", "Pss: 112\n", "Pss: -1 kB\n", "Pss: 99999999999999999999 kB\n"} {
		if got, err := main.ParseSize([]byte(text), "Pss"); err == nil {
			t.Errorf("%q: got %d", text, got)
		}
	}
}

func TestParseSockets_EstablishedOnesOfThePort(t *testing.T) {
	got, err := main.ParseSockets(strings.NewReader(tcp), 0x2124)
	if want := (main.Sockets{Open: 2, Unread: 0x1010}); got != want || err != nil {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if got, err := main.ParseSockets(strings.NewReader(tcp), 0x124); got != (main.Sockets{}) || err != nil {
		t.Errorf("a port of none: got %+v, %v", got, err)
	}
}

func TestParseSockets_MissingQueueIsAnError(t *testing.T) {
	line := "1: 0100007F:2124 0100007F:C350 01 00000000 00:00000000"
	if got, err := main.ParseSockets(strings.NewReader(line), 0x2124); err == nil {
		t.Errorf("got %+v", got)
	}
}

func FuzzParseSize(f *testing.F) {
	f.Add([]byte(rollup))
	f.Fuzz(func(t *testing.T, text []byte) {
		if n, err := main.ParseSize(text, "Pss"); n < 0 || err != nil && n != 0 {
			t.Errorf("ParseSize(%q): got %d and error %v, want a size from 0, and 0 with an error", text, n, err)
		}
	})
}

func FuzzParseSockets(f *testing.F) {
	f.Add(tcp, 0x2124)
	f.Fuzz(func(t *testing.T, text string, port int) {
		if s, _ := main.ParseSockets(strings.NewReader(text), port); s.Open < 0 || s.Unread < 0 {
			t.Errorf("ParseSockets(%q): got %+v, want counts from 0", text, s)
		}
	})
}
