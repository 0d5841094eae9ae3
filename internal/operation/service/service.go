// Package service writes what starts a gateway with a login or the machine: units of systemd, an agent of launchd, a
// task of Windows. It makes texts only, for any system on any system.
package service

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Name is the service's name with service managers, and Label that with launchd.
const (
	Name  = "ridethrough"
	Label = "dev.ridethrough.gateway"
)

// Times that a manager grants. The program's own are shorter: answers in progress end within 10 s, and then notices,
// spans and the store have seconds. A large store is read before the gateway is ready.
const (
	stopSeconds     = 45
	startSeconds    = 600
	watchdogSeconds = 120 // signs of life come every 5 s, unless a loop has been frozen for 30
)

// Definition is a gateway that a service manager runs.
type Definition struct {
	Program string   // its path
	Args    []string // such as "serve"
	User    string   // on Windows, as DOMAIN\name
	Home    string   // of launchd's agent: where its logs are
}

// Facts are what a file remembers beside its text, for the commands that come later.
type Facts struct {
	Config string // the configuration file of --config; "": none
	Made   int    // directories above the file that were made for it
}

// The mark is a comment in each file: that it is ours, its facts, and a hash by which a change by hand shows.
const markText = "Written by ridethrough service install"

var mark = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(markText + `; config=(\S*) made=(\d+) sha256=([0-9a-f]{16})`)
})

// sealed returns the text of a file with its mark at the place of "{mark}".
func sealed(text string, f Facts) string {
	begins := fmt.Sprintf("%s; config=%s made=%d sha256=", markText, escape(f.Config), f.Made)
	return strings.Replace(text, "{mark}", begins+hash(strings.Replace(text, "{mark}", begins, 1)), 1)
}

// hash returns the beginning of a text's hash.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Read returns the facts of a file, and whether it is one of ours as it was written.
func Read(text string) (f Facts, unchanged bool) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	at := mark().FindStringSubmatchIndex(text)
	if at == nil {
		return f, false
	}
	f.Config = unescape(text[at[2]:at[3]])
	f.Made, _ = strconv.Atoi(text[at[4]:at[5]]) // of digits
	return f, hash(text[:at[6]]+text[at[7]:]) == text[at[6]:at[7]]
}

// escape returns a text for a comment of any of the formats: without spaces, and without the "--" that ends those of
// XML.
func escape(text string) string {
	var to strings.Builder
	for _, b := range []byte(text) {
		if b == '/' || b == '.' || b == '_' || b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' {
			to.WriteByte(b)
		} else {
			fmt.Fprintf(&to, "%%%02X", b)
		}
	}
	return to.String()
}

// unescape reverses [escape].
func unescape(text string) string {
	var to strings.Builder
	for i := 0; i < len(text); i++ {
		if b, err := strconv.ParseUint(text[min(i+1, len(text)):min(i+3, len(text))], 16, 8); text[i] == '%' && err == nil {
			to.WriteByte(byte(b))
			i += 2
		} else {
			to.WriteByte(text[i])
		}
	}
	return to.String()
}
