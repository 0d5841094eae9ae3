package config

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// line is one line of the shown configuration.
type line struct {
	path   string // of its value; "": none
	text   string
	value  string // as it is shown
	origin string
}

// Show returns the effective configuration as an equivalent file. With origins,
// each value has a comment with its source.
func (c *Config) Show(origins bool) string {
	var b strings.Builder
	lines := c.lines()
	width := 0
	for _, l := range lines {
		if l.path != "" {
			width = max(width, utf8.RuneCountInString(l.text))
		}
	}
	for _, l := range lines {
		b.WriteString(l.text)
		if origins && l.path != "" {
			b.WriteString(strings.Repeat(" ", width-utf8.RuneCountInString(l.text)) + "  # " + l.origin)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// lines returns the lines of the configuration, defaults included.
func (c *Config) lines() []line {
	full := *c
	full.upstreams = slices.Clone(c.all())
	for i := range full.upstreams {
		if u := &full.upstreams[i].value; u.url == "" {
			u.url = defaultURL(u.api)
		}
	}
	p := printer{config: c}
	p.fields("", "", file().show(&full))
	return p.lines
}

// printer writes nodes as lines.
type printer struct {
	config *Config
	lines  []line
}

// fields writes a mapping. A policy's preset is replaced by its values.
func (p *printer) fields(path, indent string, n *node) {
	rest := "default"
	preset := n.field("preset")
	if preset != nil {
		rest = "preset " + preset.text
	}
	for _, e := range n.entries {
		if e.value == preset {
			continue
		}
		at := strings.TrimPrefix(path+"."+e.key.text, ".")
		p.value(at, indent, indent+scalarText(e.key)+":", rest, e.value)
	}
}

// value writes a value after the text before it on its line.
func (p *printer) value(path, indent, before, rest string, n *node) {
	switch {
	case n.kind == mapping && len(n.entries) == 0:
		p.add(path, before, "{}", rest)
	case n.kind == mapping:
		p.lines = append(p.lines, line{text: before})
		p.fields(path, indent+"  ", n)
	case n.kind == sequence && len(n.items) > 0 && n.items[0].kind == mapping:
		p.lines = append(p.lines, line{text: before})
		for i, item := range n.items {
			first := len(p.lines)
			p.fields(path+"."+strconv.Itoa(i), indent+"    ", item)
			if first < len(p.lines) {
				p.lines[first].text = indent + "  - " + strings.TrimPrefix(p.lines[first].text, indent+"    ")
			}
		}
	case n.kind == sequence:
		items := make([]string, len(n.items))
		for i, item := range n.items {
			items[i] = scalarText(item)
		}
		p.add(path, before, "["+strings.Join(items, ", ")+"]", rest)
	default:
		p.add(path, before, scalarText(n), rest)
	}
}

func (p *printer) add(path, before, value, rest string) {
	p.lines = append(p.lines, line{path, before + " " + value, value, p.config.originOf(path, rest)})
}

// originOf returns the source of a value: the origin of its override, a line of the file, or else rest.
func (c *Config) originOf(path, rest string) string {
	for p := path; p != ""; p = p[:max(0, strings.LastIndexByte(p, '.'))] {
		if origin := c.origin[p]; origin != "" {
			return origin
		}
	}
	if at, ok := c.at[path]; ok {
		return fmt.Sprintf("%s:%d", filepath.Base(c.source.name), at.line)
	}
	return rest
}

// scalarText returns a scalar as YAML, quoted where necessary.
func scalarText(n *node) string {
	if n.kind == number || plainText(n.text) {
		return n.text
	}
	quoted, _ := json.Marshal(n.text)
	return string(quoted)
}

// plainText reports whether a text needs no quotes.
func plainText(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if s == "" || strings.Trim(s, letters+"0123456789./_-:%*") != "" || strings.HasSuffix(s, ":") {
		return false
	}
	if slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(s)) {
		return false
	}
	if strings.ContainsAny(s[:1], letters+"/_") {
		return true
	}
	_, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return err != nil && strings.ContainsAny(s[:1], "123456789") && (strings.ContainsAny(s, letters+"%:") || strings.Count(s, ".") > 1)
}

// ShowChanges returns what differs from another configuration, as comments below it, each with its source; "":
// nothing does. The defaults of an upstream that the other does not have are left out.
func (c *Config) ShowChanges(old *Config) string {
	var b strings.Builder
	for _, change := range c.Changes(old) {
		origin, value := c.originOf(change.Field, "default"), change.New
		switch {
		case value == "":
			value = "not used"
		case change.Old == "" && origin == "default":
			continue
		}
		fmt.Fprintf(&b, "#   %s: %s  # %s\n", change.Field, value, origin)
	}
	return b.String()
}

// Change is a value that differs between two configurations.
type Change struct {
	Field    string // the path of the value: "upstreams.local.url"
	Old, New string // as shown; "": none
}

// Changes returns the differences of the effective configurations.
func (c *Config) Changes(old *Config) (all []Change) {
	before := map[string]string{}
	for _, l := range old.lines() {
		before[l.path] = l.value
	}
	for _, l := range c.lines() {
		if was := before[l.path]; was != l.value {
			all = append(all, Change{l.path, was, l.value})
		}
		delete(before, l.path)
	}
	for _, l := range old.lines() {
		if was, gone := before[l.path]; gone {
			all = append(all, Change{l.path, was, ""})
		}
	}
	return all
}

// String returns the change as text: "policy: patient → worker".
func (c Change) String() string {
	switch {
	case c.Old == "":
		return c.Field + ": " + c.New
	case c.New == "":
		return c.Field + " removed"
	}
	return c.Field + ": " + c.Old + " → " + c.New
}
