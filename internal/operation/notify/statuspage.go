package notify

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/internal/text"
)

// feedURLs are the feeds that have a name.
var feedURLs = map[string]string{
	"anthropic":    "https://status.claude.com/api/v2/summary.json",
	"openai":       "https://status.openai.com/api/v2/summary.json",
	"google-cloud": "https://status.cloud.google.com/incidents.json",
}

// StatusPages returns the names of the known status pages, in order.
func StatusPages() []string { return []string{"anthropic", "openai", "google-cloud"} }

// StatusURL returns the address of a status page's feed by its name or address, or "".
func StatusURL(feed string) string {
	if known := feedURLs[feed]; known != "" {
		return known
	}
	if u, err := url.Parse(feed); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil {
		return feed
	}
	return ""
}

// Status is what a provider's status page says, for display beside our measurements: no wait depends on it. It is
// read from the summary of a page by Atlassian or incident.io (Anthropic, OpenAI and most others), or from Google
// Cloud's list of incidents.
type Status struct {
	Says string    // in the page's words: "All Systems Operational"
	Fine bool      // it knows of no problem
	At   time.Time // when it was read
}

const (
	readTime   = 15 * time.Second
	bodyBound  = 32 << 20 // Google's list has years
	textBound  = 120      // bytes of Says
	namesBound = 2        // incidents in Says
)

// ReadStatus reads a feed in one try.
func ReadStatus(ctx context.Context, client *http.Client, address string) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return Status{}, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "ridethrough")
	resp, err := client.Do(req)
	if err != nil {
		return Status{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Status{}, fmt.Errorf("status page: HTTP %d", resp.StatusCode)
	}
	s, err := ParseStatus(io.LimitReader(resp.Body, bodyBound))
	s.At = time.Now()
	return s, err
}

// ParseStatus parses a feed in either form.
func ParseStatus(r io.Reader) (Status, error) {
	in := bufio.NewReader(r)
	first, err := in.Peek(1)
	for err == nil && unicode.IsSpace(rune(first[0])) {
		_, _ = in.Discard(1)
		first, err = in.Peek(1)
	}
	switch {
	case err != nil:
		return Status{}, fmt.Errorf("read the status page: %w", err)
	case first[0] == '[':
		return parseGoogle(json.NewDecoder(in))
	}
	return parseSummary(json.NewDecoder(in))
}

type summary struct {
	Status struct {
		Indicator   string `json:"indicator"` // none, minor, major, critical, maintenance
		Description string `json:"description"`
	} `json:"status"`
	Incidents []struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	} `json:"incidents"`
}

func parseSummary(d *json.Decoder) (Status, error) {
	var s summary
	switch err := d.Decode(&s); {
	case err != nil:
		return Status{}, fmt.Errorf("read the status page: %w", err)
	case s.Status.Description == "":
		return Status{}, errors.New("read the status page: it has no status.description")
	}
	var names []string
	for _, in := range s.Incidents {
		if in.Status != "resolved" && in.Status != "postmortem" {
			names = append(names, in.Name)
		}
	}
	return statusOf(s.Status.Description, names, s.Status.Indicator == "none" && len(names) == 0), nil
}

type googleIncident struct {
	Begin       time.Time `json:"begin"`
	End         *string   `json:"end"`
	Description string    `json:"external_desc"`
	Products    []struct {
		Title string `json:"title"`
	} `json:"affected_products"`
}

// googleWords occur in the names of the products that serve models.
var googleWords = []string{"Vertex", "Gemini", "Generative AI", "Agent Platform"}

func (in *googleIncident) concerns() bool {
	for _, p := range in.Products {
		if slices.ContainsFunc(googleWords, func(word string) bool { return strings.Contains(p.Title, word) }) {
			return true
		}
	}
	return false
}

// parseGoogle reads one incident at a time: the list covers years.
func parseGoogle(d *json.Decoder) (Status, error) {
	_, err := d.Token()
	var names []string
	for err == nil && d.More() {
		var in googleIncident
		if err = d.Decode(&in); err == nil && (in.End == nil || *in.End == "") && in.concerns() {
			names = append(names, in.Description)
		}
	}
	if err == nil {
		_, err = d.Token() // a list that was cut may lack an incident
	}
	if err != nil {
		return Status{}, fmt.Errorf("read the status page: %w", err)
	}
	if len(names) == 0 {
		return Status{Says: "No incident of Vertex AI or Gemini", Fine: true}, nil
	}
	return statusOf("", names, false), nil
}

func statusOf(says string, names []string, fine bool) Status {
	parts := append([]string{}, names[:min(namesBound, len(names))]...)
	if says != "" {
		parts = append([]string{says}, parts...)
	}
	return Status{Says: text.Clip(printable.Line(strings.Join(parts, "; ")), textBound), Fine: fine}
}
