// Package statusfeed reads what a provider's status page says, to show it beside what was measured here. It reads
// the summary of a page by Atlassian or incident.io (Anthropic, OpenAI and most others), and Google Cloud's list of
// incidents. It decides nothing: no wait depends on a status page.
package statusfeed

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
)

// feedURLs has the feeds that have a name.
var feedURLs = map[string]string{
	"anthropic":    "https://status.claude.com/api/v2/summary.json",
	"openai":       "https://status.openai.com/api/v2/summary.json",
	"google-cloud": "https://status.cloud.google.com/incidents.json",
}

// Names returns the names of the known feeds, in order.
func Names() []string { return []string{"anthropic", "openai", "google-cloud"} }

// URL returns the address of a feed by its name or address; "": it is neither.
func URL(feed string) string {
	if known := feedURLs[feed]; known != "" {
		return known
	}
	if u, err := url.Parse(feed); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil {
		return feed
	}
	return ""
}

// Status is what a status page says.
type Status struct {
	Says string    // in the page's words: "All Systems Operational"
	Fine bool      // it knows of no problem
	At   time.Time // when it was read
}

const (
	readTime   = 15 * time.Second
	bodyBound  = 32 << 20 // Google's list has years
	textBound  = 120      // characters of Says
	namesBound = 2        // incidents in Says
)

// Read reads a feed, in one try.
func Read(ctx context.Context, client *http.Client, address string) (Status, error) {
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
	s, err := Parse(io.LimitReader(resp.Body, bodyBound))
	s.At = time.Now()
	return s, err
}

// Parse parses a feed in either form.
func Parse(r io.Reader) (Status, error) {
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

// summary is the summary of a status page.
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

// googleIncident is an incident of Google Cloud.
type googleIncident struct {
	Begin       time.Time `json:"begin"`
	End         *string   `json:"end"`
	Description string    `json:"external_desc"`
	Products    []struct {
		Title string `json:"title"`
	} `json:"affected_products"`
}

// googleWords are in the names of the products through which models are asked.
var googleWords = []string{"Vertex", "Gemini", "Generative AI", "Agent Platform"}

// concerns reports whether models are asked through a product of the incident.
func (in *googleIncident) concerns() bool {
	for _, p := range in.Products {
		if slices.ContainsFunc(googleWords, func(word string) bool { return strings.Contains(p.Title, word) }) {
			return true
		}
	}
	return false
}

// parseGoogle reads one incident at a time: the list has years of them.
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

// statusOf returns a status with the names of incidents in its text.
func statusOf(says string, names []string, fine bool) Status {
	parts := append([]string{}, names[:min(namesBound, len(names))]...)
	if says != "" {
		parts = append([]string{says}, parts...)
	}
	return Status{Says: clip(strings.Join(parts, "; ")), Fine: fine}
}

// clip bounds a text of a page and leaves out what is not printable.
func clip(s string) string {
	s = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)), " ")
	if r := []rune(s); len(r) > textBound {
		return string(r[:textBound-1]) + "…"
	}
	return s
}
