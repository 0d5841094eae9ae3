package classify

import (
	"embed"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// tableFiles are the tables: what errors mean, a row a line. tables/README.md says how they are written.
//
//go:embed tables/*.txt
var tableFiles embed.FS

// order is the tables by precedence: where two have a text in common, the earlier one decides. Texts of many vendors
// come last. The table failures is asked by itself.
const order = `images anthropic anthropic-codes openai oauth azure gemini bedrock ollama lmstudio openrouter groq mistral deepseek xai cerebras
	together fireworks kimi qwen zhipu minimax ark copilot cohere baidu stops vllm relay conflicts active downloads grpc workers-ai cloudflare page
	chinese non-json runtimes limits common network curl wording word-pairs plans chinese-words asian-words german-words
	romance-words russian-words failure-words away sizes requests gateway-texts status`

// table is what the rows of one table have in common.
type table struct {
	name     string
	guessed  bool
	sure     int
	account  fault.Set
	only     bool  // its texts count with these statuses only, or with all others
	statuses []int // or classes, see classOf
	form     func(Layer) bool
	source   string
	rows     []tableRow
}

// tableRow is a line of a table.
type tableRow struct {
	at     string // its file and line, for an error
	where  string
	match  string
	source string
	status int
	says   Ruling
}

// counts reports whether the texts of a table are evidence beside a status.
func (t *table) counts(status int) bool {
	named := slices.Contains(t.statuses, status) || status >= 100 && slices.Contains(t.statuses, classOf(status))
	return len(t.statuses) == 0 || named == t.only
}

// readTables returns the tables in their order, with failures last.
func readTables() (ordered []*table, err error) {
	files, err := tableFiles.ReadDir("tables")
	if err != nil {
		return nil, err
	}
	all := map[string]*table{}
	for _, f := range files {
		text, err := tableFiles.ReadFile("tables/" + f.Name())
		if err != nil {
			return nil, err
		}
		if err := parseTables(f.Name(), string(text), all); err != nil {
			return nil, err
		}
	}
	for name := range strings.FieldsSeq(order + " failures") {
		if all[name] == nil {
			return nil, errors.New("no file has the table " + name)
		}
		ordered = append(ordered, all[name])
		delete(all, name)
	}
	for name := range all {
		return nil, errors.New("the table " + name + " has no place in the order")
	}
	return ordered, nil
}

// parseTables adds the tables of a file.
func parseTables(file, text string, all map[string]*table) error {
	var t *table
	n := 0
	for line := range strings.Lines(text) {
		n++
		at := file + ":" + strconv.Itoa(n) + ": "
		columns := columnsOf(line)
		switch {
		case len(columns) == 0 || columns[0][0] == '#':
			continue
		case columns[0][0] == '[':
			name, ok := strings.CutSuffix(columns[0][1:], "]")
			if !ok || all[name] != nil {
				return errors.New(at + not(columns[0], "the name of a new table").Error())
			}
			t = &table{name: name, sure: certain, form: forms[name]}
			all[name] = t
			for _, c := range columns[1:] {
				if err := t.set(strings.Fields(c)); err != nil {
					return errors.New(at + err.Error())
				}
			}
		case t == nil:
			return errors.New(at + "a line before the first table")
		case columns[0] == "source" && len(columns) == 2:
			t.source = columns[1]
		default:
			r, err := t.newRow(columns)
			if err != nil {
				return errors.New(at + err.Error())
			}
			r.at = at
			t.rows = append(t.rows, r)
		}
	}
	return nil
}

// columnsOf returns the columns of a line, without the spaces between them.
func columnsOf(line string) (columns []string) {
	for c := range strings.SplitSeq(line, "  ") {
		if c = strings.TrimSpace(c); c != "" {
			columns = append(columns, c)
		}
	}
	return columns
}

// set sets what the texts of the table have in common.
func (t *table) set(words []string) (err error) {
	var kind fault.Kind
	switch first := words[0]; {
	case first == "guessed" && len(words) == 1:
		t.guessed = true
	case strings.HasSuffix(first, "%") && len(words) == 1:
		t.sure, err = parsePercent(first)
	case first == "account" && len(words) == 2:
		kind, err = kindOf(words[1])
		t.account = 1 << kind
	case first == "only" || first == "except":
		t.only, t.statuses = first == "only", make([]int, len(words)-1)
		for i, w := range words[1:] {
			if t.statuses[i], err = parseStatus(w); err != nil {
				return err
			}
		}
	default:
		return not(strings.Join(words, " "), "known of a table")
	}
	return err
}

// newRow reads a row.
func (t *table) newRow(columns []string) (r tableRow, err error) {
	if len(columns) < 3 || len(columns) > 5 {
		return r, errors.New(strconv.Itoa(len(columns)) + " columns, want where, kind, match, and perhaps reason and source")
	}
	where, status, limited := strings.Cut(columns[0], " ")
	if r.where = where; limited {
		if r.status, err = parseStatus(status); err != nil {
			return r, err
		}
	}
	if err := r.says.set(strings.Fields(columns[1])); err != nil {
		return r, err
	}
	if r.match = columns[2]; r.match[0] == '"' { // spaces at its ends
		if r.match, err = strconv.Unquote(r.match); err != nil {
			return r, not(columns[2], "a quoted text")
		}
	}
	if len(columns) > 3 && columns[3] != "-" {
		r.says.Reason = columns[3]
	}
	if r.source = t.source; len(columns) == 5 {
		r.source = columns[4]
	}
	if r.source == "" {
		return r, errors.New("no source")
	}
	return r, nil
}

// set sets a kind and its effects.
func (r *Ruling) set(words []string) (err error) {
	effects := map[string]*bool{"window": &r.Window, "final": &r.Final, "at-once": &r.AtOnce, "images": &r.Images}
	r.Kind, err = kindOf(words[0])
	for _, w := range words[1:] {
		if effect := effects[w]; effect != nil {
			*effect = true
		} else if times, few := strings.CutSuffix(w, "x"); few && err == nil {
			if r.Retries, err = strconv.Atoi(times); err != nil || r.Retries < 1 {
				err = not(w, "a number of retries")
			}
		} else if err == nil {
			r.Sure, err = parsePercent(w)
		}
	}
	return err
}

// kindOf returns the kind with a name, as in the file of a user's rows.
func kindOf(name string) (fault.Kind, error) {
	kind := fault.KindOf(name)
	if kind.String() != name {
		return kind, not(name, "a kind of fault")
	}
	return kind, nil
}

// parsePercent parses a number with a percent sign.
func parsePercent(word string) (int, error) {
	number, ok := strings.CutSuffix(word, "%")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n <= 0 || n > certain {
		return 0, not(word, "a percentage")
	}
	return n, nil
}

// parseStatus parses a status, or a class such as 4xx.
func parseStatus(word string) (int, error) {
	number, class := strings.CutSuffix(word, "xx")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || n < 0 || class && n > 5 || n > 599:
		return 0, not(word, "a status")
	case class:
		return -n, nil
	}
	return n, nil
}

// classOf returns the class of a status as a number that is no status.
func classOf(status int) int { return -min(status/100, 5) }

// not is the error of a word that is not what stands in its place.
func not(word, what string) error { return errors.New(strconv.Quote(word) + " is not " + what) }
