package notify_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/operation/notify"
)

const fine = `{"page":{"id":"tymt9n04zgry","name":"Claude","url":"https://status.claude.com"},"components":[{"name":"Claude API","status":"operational"}],
"incidents":[],"scheduled_maintenances":[],"status":{"indicator":"none","description":"All Systems Operational"}}`

func TestParseStatus_ReadsBothForms(t *testing.T) {
	google := func(incidents ...string) string { return "[" + strings.Join(incidents, ",\n") + "]" }
	vertex := `{"id":"a","begin":"2026-11-22T10:00:00+00:00","external_desc":"Vertex Gemini API has errors","affected_products":[{"title":"Vertex Gemini API","id":"Z0FZJAMvEB4j3NbCJs6B"}],"severity":"medium","status_impact":"SERVICE_DISRUPTION"}`
	storage := `{"id":"b","begin":"2026-11-22T10:00:00+00:00","external_desc":"Storage is slow","affected_products":[{"title":"Google Cloud Storage"}]}`
	over := strings.Replace(vertex, `"begin"`, `"end":"2026-11-22T11:00:00+00:00","begin"`, 1)
	for _, c := range []struct {
		name, text, says string
		fine             bool
	}{
		{"a summary without incidents", fine, "All Systems Operational", true},
		{"a summary with incidents", `{"status":{"indicator":"major","description":"Partial System Outage"},"incidents":[
			{"name":"Elevated errors on Opus","status":"investigating"},{"name":"Old","status":"resolved"}]}`, "Partial System Outage; Elevated errors on Opus", false},
		{"a summary that is fine with an incident", `{"status":{"indicator":"none","description":"All Systems Operational"},"incidents":[{"name":"Slow","status":"monitoring"}]}`, "All Systems Operational; Slow", false},
		{"a text with controls", "{\"status\":{\"indicator\":\"minor\",\"description\":\"a\\u001b[2J\\n b\\u202e\"}}", "a␛[2J b", false},
		{"Google's without open incidents of models", " \n" + google(over, storage), "No incident of Vertex AI or Gemini", true},
		{"Google's with one", google(over, vertex, storage), "Vertex Gemini API has errors", false},
		{"Google's without any", "[]", "No incident of Vertex AI or Gemini", true},
	} {
		got, err := notify.ParseStatus(strings.NewReader(c.text))
		if err != nil || got.Says != c.says || got.Fine != c.fine {
			t.Errorf("%s: got %q, fine %v, %v; want %q, fine %v", c.name, got.Says, got.Fine, err, c.says, c.fine)
		}
	}
}

// A list that was cut may lack the one incident that is open.
func TestParseStatus_RefusesWhatIsNoStatus(t *testing.T) {
	for _, text := range []string{"", "{}", "<html>", `[{"id":"a"}`, `{"status":{"indicator":"none"}}`, "[1]"} {
		if got, err := notify.ParseStatus(strings.NewReader(text)); err == nil {
			t.Errorf("Parse(%q): got %+v, want an error", text, got)
		}
	}
}

func TestParseStatus_BoundsItsText(t *testing.T) {
	text := `{"status":{"indicator":"minor","description":"` + strings.Repeat("é", 5000) + `"}}`
	got, err := notify.ParseStatus(strings.NewReader(text))
	if n := len([]rune(got.Says)); err != nil || n > 120 {
		t.Errorf("a text of 5000 characters: got %d, %v; want at most 120", n, err)
	}
}

func TestReadStatus_SendsNothingButItsName(t *testing.T) {
	var seen http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header
		if r.URL.Path != "/api/v2/summary.json" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(fine))
	}))
	defer s.Close()
	got, err := notify.ReadStatus(t.Context(), s.Client(), s.URL+"/api/v2/summary.json")
	if err != nil || !got.Fine || got.At.IsZero() {
		t.Errorf("Read: got %+v, %v; want a status that is fine, with its time", got, err)
	}
	for _, name := range []string{"Authorization", "Cookie", "X-Api-Key"} {
		if seen.Get(name) != "" {
			t.Errorf("header %s: got %q, want none", name, seen.Get(name))
		}
	}
	if _, err := notify.ReadStatus(t.Context(), s.Client(), s.URL+"/elsewhere"); err == nil {
		t.Error("Read of a 404: got no error, want one")
	}
}

func TestStatusURL_KnowsNamesAndAddresses(t *testing.T) {
	for feed, want := range map[string]string{
		"anthropic": "https://status.claude.com/api/v2/summary.json", "https://status.example/api/v2/summary.json": "https://status.example/api/v2/summary.json",
		"mistral": "", "ftp://x/y": "", "https://me:pass@status.example": "", "": "",
	} {
		if got := notify.StatusURL(feed); got != want {
			t.Errorf("URL(%q): got %q, want %q", feed, got, want)
		}
	}
	for _, name := range notify.StatusPages() {
		if notify.StatusURL(name) == "" {
			t.Errorf("URL(%q): got none, want one", name)
		}
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add(fine)
	f.Add(`[{"id":"a","external_desc":"x","affected_products":[{"title":"Vertex AI"}]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := notify.ParseStatus(strings.NewReader(text)); err == nil && (got.Says == "" && got.Fine || len([]rune(got.Says)) > 120) {
			t.Errorf("Parse(%q): got %+v, want a text of at most 120 characters", text, got)
		}
	})
}
