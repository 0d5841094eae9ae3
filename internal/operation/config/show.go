package config

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ridethrough/ridethrough/fault"
)

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

func (c *Config) lines() []line {
	full := *c
	full.upstreams = slices.Clone(c.all())
	for i := range full.upstreams {
		if u := &full.upstreams[i]; u.url == "" {
			u.url = defaultURL(u.api)
		}
	}
	p := printer{config: c}
	p.fields("", "", formOf[Config](), reflect.ValueOf(&full).Elem())
	return p.lines
}

type printer struct {
	config *Config
	lines  []line
}

// fields writes those fields of a mapping that are set or have a default. The values of a policy's preset replace
// its name.
func (p *printer) fields(path, indent string, f form, v reflect.Value) {
	rest := "default"
	if own, ok := v.Addr().Interface().(*rule); ok && own.preset != "" {
		rest = "preset " + own.preset
	}
	for _, field := range f.fields() {
		value := field.of(v)
		at, before := strings.TrimPrefix(path+"."+field.key(), "."), indent+field.key()+":"
		switch def, _ := field.otherwise(); {
		case field.key() == "preset":
		case value.IsZero() && def != "":
			p.add(at, before, scalarText(def), rest)
		case !value.IsZero() || field.kind() == reflect.Struct: // whose fields may have defaults
			start := len(p.lines)
			if p.value(at, indent, before, rest, field, value); value.IsZero() && len(p.lines) == start+1 {
				p.lines = p.lines[:start]
			}
		}
	}
}

func (p *printer) value(path, indent, before, rest string, f form, v reflect.Value) {
	start := len(p.lines)
	switch f.kind() {
	case reflect.Pointer:
		p.value(path, indent, before, rest, f.elem(), v.Elem())
	case reflect.Interface:
		part, _ := f.part("inline")
		if part.of(v).IsZero() {
			part, _ = f.part("text")
		}
		p.value(path, indent, before, rest, part, part.of(v))
	case reflect.Map, reflect.Struct:
		p.lines = append(p.lines, line{text: before})
		if f.kind() == reflect.Struct {
			p.fields(path, indent+"  ", f, v)
		} else {
			for i := range v.Len() {
				name, _ := f.elem().part("name")
				key := name.of(v.Index(i)).String()
				p.value(path+"."+key, indent+"  ", indent+"  "+scalarText(key)+":", "default", f.elem(), v.Index(i))
			}
		}
		if len(p.lines) == start+1 {
			p.lines = p.lines[:start]
			p.add(path, before, "{}", rest)
		}
	case reflect.Slice, reflect.Array:
		p.list(path, indent, before, rest, f, v)
	default:
		p.add(path, before, f.scalar().shown(v), rest)
	}
}

// list writes a list, on one line unless its items have fields.
func (p *printer) list(path, indent, before, rest string, f form, v reflect.Value) {
	var items []string
	if f.kind() == reflect.Array {
		for _, kind := range kindsIn(fault.Set(v.Uint())) {
			items = append(items, scalarText(kind))
		}
	} else if f.elem().kind() == reflect.Struct {
		p.lines = append(p.lines, line{text: before})
		for i := range v.Len() {
			first := len(p.lines)
			if p.fields(path+"."+strconv.Itoa(i), indent+"    ", f.elem(), v.Index(i)); first < len(p.lines) {
				p.lines[first].text = indent + "  - " + strings.TrimPrefix(p.lines[first].text, indent+"    ")
			}
		}
		return
	} else {
		for i := range v.Len() {
			items = append(items, f.elem().scalar().shown(v.Index(i)))
		}
	}
	p.add(path, before, "["+strings.Join(items, ", ")+"]", rest)
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

func (s scalar) shown(v reflect.Value) string {
	text := fmt.Sprint(v.Interface())
	if s.show != nil {
		text = s.show(v.Interface())
	}
	if s.kind != "" {
		return text
	}
	return scalarText(text)
}

// scalarText returns a text as YAML, quoted where necessary.
func scalarText(text string) string {
	if plainText(text) {
		return text
	}
	quoted, _ := json.Marshal(text)
	return string(quoted)
}

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

// ShowChanges returns the differences from another configuration as comments below it, each with its source, or "".
// It omits the defaults of an upstream that the other configuration does not have.
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
