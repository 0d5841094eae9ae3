package telemetry_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/ridethrough/ridethrough/internal/operation/metrics"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry"
)

var update = flag.Bool("update", false, "write the dashboard of Grafana")

// files is where the chart and the compose file take the dashboard and the alerts from.
const files = "../../../charts/ridethrough/files/"

// section is a row of the dashboard, with a panel for each metric.
type section struct {
	Title   string
	Metrics []string // without their namespace
}

// sections place every metric on the dashboard, the most important first.
var sections = []section{
	{"Now", []string{"upstream_outage", "upstream_degraded", "waiting_requests", "held_requests", "model_outage", "upstream_paused"}},
	{"Requests", []string{"requests_total", "recovered_total", "gave_up_total", "left_total", "time_to_first_content_seconds", "wait_seconds"}},
	{"Upstreams", []string{"tries_total", "retries_total", "shared_tries_total", "switched_total", "silent_tries_total", "first_byte_limit_seconds"}},
	{"Limits", []string{"ratelimit_remaining_ratio", "queued_total", "queue_seconds"}},
	{"Tokens", []string{"token_requests_total", "token_used_tokens_total", "token_refused_total", "token_held_requests"}},
	{"Answers that broke off", []string{"broke_off_total", "completed_total", "seam_missing_total", "discarded_tokens_total", "detached_total", "replayed_total", "resent_total"}},
	{"Program", []string{"build_info", "log_lines_dropped_total"}},
}

// families describes the metrics of `serve` by their names without the namespace.
func families(t *testing.T) map[string]metrics.Family {
	t.Helper()
	tell, err := telemetry.New(t.Context(), telemetry.Config{Dropped: func() int64 { return 0 }})
	if err != nil {
		t.Fatalf("new telemetry: %v", err)
	}
	all := map[string]metrics.Family{}
	for _, f := range tell.Families() {
		all[strings.TrimPrefix(f.Name, "ridethrough_")] = f
	}
	return all
}

// object is one of JSON.
type object map[string]any

// selector chooses the series of the dashboard's variables that a metric has.
func selector(f metrics.Family) string {
	var all []string
	for _, label := range []string{"face", "upstream"} {
		if slices.Contains(f.Labels, label) {
			all = append(all, label+`=~"$`+label+`"`)
		}
	}
	all = append(all, `job=~"$job"`)
	return "{" + strings.Join(all, ",") + "}"
}

// by is the label by which a panel has lines, besides the upstream.
func by(f metrics.Family) string {
	for _, label := range []string{"kind", "limit", "version", "model"} {
		if slices.Contains(f.Labels, label) && (label != "model" || f.Kind == "gauge") {
			return label
		}
	}
	return ""
}

// targets returns the queries of a panel.
func targets(f metrics.Family) []object {
	labels, legend := []string{}, []string{}
	for _, label := range []string{"upstream", by(f)} {
		if slices.Contains(f.Labels, label) {
			labels, legend = append(labels, label), append(legend, "{{"+label+"}}")
		}
	}
	group := " by (" + strings.Join(labels, ", ") + ") "
	query := func(expr, legend string) object {
		return object{"expr": expr, "legendFormat": strings.TrimSpace(legend)}
	}
	name := strings.Join(legend, " ")
	switch f.Kind {
	case "histogram":
		var all []object
		for _, q := range []string{"0.5", "0.95"} {
			expr := "histogram_quantile(" + q + ", sum by (le, upstream) (rate(" + f.Name + "_bucket" + selector(f) + "[$__rate_interval])))"
			all = append(all, query(expr, name+" p"+strings.TrimPrefix(q+"0", "0.")[:2]))
		}
		return all
	case "counter":
		return []object{query("sum"+group+"(rate("+f.Name+selector(f)+"[$__rate_interval]))", name)}
	case "gauge":
		combine := "max"
		if strings.HasSuffix(f.Name, "_requests") {
			combine = "sum"
		} else if strings.HasSuffix(f.Name, "_ratio") {
			combine = "min"
		}
		return []object{query(combine+group+"("+f.Name+selector(f)+")", name)}
	}
	panic("a metric of the kind " + f.Kind)
}

// unit returns Grafana's name of the unit of a panel.
func unit(f metrics.Family) string {
	switch {
	case strings.HasSuffix(f.Name, "_seconds"):
		return "s"
	case strings.HasSuffix(f.Name, "_ratio"):
		return "percentunit"
	case f.Kind == "counter":
		return "cps"
	}
	return "short"
}

// panel draws a metric.
func panel(f metrics.Family, id, x, y int) object {
	title := strings.ReplaceAll(strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(f.Name, "ridethrough_"), "_total"), "_seconds"), "_", " ")
	defaults := object{"unit": unit(f), "min": 0, "custom": object{"fillOpacity": 10, "showPoints": "never"}}
	if f.Kind == "gauge" {
		defaults["custom"] = object{"fillOpacity": 10, "showPoints": "never", "lineInterpolation": "stepAfter"}
	}
	queries := targets(f)
	for i, q := range queries {
		q["refId"], q["datasource"] = string(rune('A'+i)), source
	}
	return object{
		"id": id, "type": "timeseries", "title": strings.ToUpper(title[:1]) + title[1:], "description": f.Help,
		"datasource": source, "gridPos": object{"x": x, "y": y, "w": 8, "h": 7}, "targets": queries,
		"fieldConfig": object{"defaults": defaults, "overrides": []any{}},
		"options":     object{"tooltip": object{"mode": "multi", "sort": "desc"}, "legend": object{"displayMode": "list", "placement": "bottom"}},
	}
}

var source = object{"type": "prometheus", "uid": "${datasource}"}

// variable is one of the choices at the top of the dashboard.
func variable(name, of string) object {
	return object{
		"name": name, "label": name, "type": "query", "datasource": source, "includeAll": true, "multi": true, "allValue": ".*", "refresh": 2,
		"current": object{"text": "All", "value": "$__all"}, "query": object{"query": "label_values(" + of + ", " + name + ")", "refId": name},
	}
}

// dashboard returns the dashboard of Grafana.
func dashboard(all map[string]metrics.Family) ([]byte, error) {
	var panels []object
	y := 0
	for _, s := range sections {
		panels = append(panels, object{"id": len(panels) + 1, "type": "row", "title": s.Title, "collapsed": false, "panels": []any{}, "gridPos": object{"x": 0, "y": y, "w": 24, "h": 1}})
		y++
		for i, name := range s.Metrics {
			panels = append(panels, panel(all[name], len(panels)+1, i%3*8, y+i/3*7))
		}
		y += (len(s.Metrics) + 2) / 3 * 7
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(object{
		"uid": "ridethrough", "title": "ridethrough", "tags": []string{"ridethrough"}, "schemaVersion": 39, "version": 1, "editable": true,
		"time": object{"from": "now-6h", "to": "now"}, "refresh": "30s", "timezone": "browser", "panels": panels,
		"templating": object{"list": []object{
			{"name": "datasource", "label": "datasource", "type": "datasource", "query": "prometheus", "current": object{}},
			variable("job", "ridethrough_build_info"), variable("face", "ridethrough_requests_total"), variable("upstream", "ridethrough_waiting_requests"),
		}},
	})
	return b.Bytes(), err
}

func TestDashboard_IsCurrent(t *testing.T) {
	all := families(t)
	placed := map[string]bool{}
	for _, s := range sections {
		for _, name := range s.Metrics {
			if _, known := all[name]; !known || placed[name] {
				t.Fatalf("the section %s: there is no metric %s, or it is placed twice", s.Title, name)
			}
			placed[name] = true
		}
	}
	for name := range all {
		if !placed[name] {
			t.Errorf("the metric %s is in no section of the dashboard", name)
		}
	}
	want, err := dashboard(all)
	if err != nil {
		t.Fatalf("make the dashboard: %v", err)
	}
	if *update {
		if err := os.WriteFile(filepath.FromSlash(files+"dashboard.json"), want, 0o644); err != nil {
			t.Fatalf("write the dashboard: %v", err)
		}
	}
	got, err := os.ReadFile(filepath.FromSlash(files + "dashboard.json"))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("dashboard.json is not what the metrics give (%v); update it with scripts/dashboard", err)
	}
}

// metric is the name of one of our metrics.
var metric = regexp.MustCompile(`ridethrough_[a-z_]+`)

func TestAlerts_NameMetricsThatExist(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash(files + "alerts.yaml"))
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.UnmarshalWithOptions(text, &rules, yaml.Strict()); err != nil {
		t.Fatalf("parse: %v", err)
	}
	all, n := families(t), 0
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			n++
			names := metric.FindAllString(r.Expr, -1)
			if r.Annotations["summary"] == "" || r.Labels["severity"] == "" || len(names) == 0 {
				t.Errorf("%s: want a summary, a severity and a metric of ours: %+v", r.Alert, r)
			}
			for _, name := range names {
				if err := knows(all, name); err != nil {
					t.Errorf("%s: %v", r.Alert, err)
				}
			}
		}
	}
	if n == 0 {
		t.Error("there are no alerts")
	}
}

// knows returns an error if there is no metric of a name, which may be a part of a histogram's.
func knows(all map[string]metrics.Family, name string) error {
	name = strings.TrimPrefix(name, "ridethrough_")
	if _, ok := all[name]; ok {
		return nil
	}
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, part); ok && all[base].Kind == "histogram" {
			return nil
		}
	}
	return fmt.Errorf("there is no metric %s", name)
}
