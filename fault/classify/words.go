package classify

import (
	_ "embed"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

//go:embed words.txt
var wordsFile string

// vocabulary is the lists of words.txt, which says what each is for.
type vocabulary struct {
	failing, statusNames, fields, causes, amountNouns []string
	denied, echoes, expired                           []string
	stopFields, stops, stopNames                      []string
	asks, asking, prepositions, fillers, instants     []string
	remaining, asksAbroad                             []string
	units, unitsAbroad, fieldUnits, amounts           []timeWord
	reasons                                           [fault.Canceled + 1]string // of kinds
}

// timeWord is a word or phrase that stands for a duration.
type timeWord struct {
	words string
	span  time.Duration
}

// words returns the vocabulary, which is read on first use.
var words = sync.OnceValue(func() *vocabulary {
	v, err := parseWords("words.txt", wordsFile)
	if err != nil {
		panic("fault/classify: " + err.Error()) // the words are part of the program, and a test reads them
	}
	return v
})

// parseWords reads the lists of words.
func parseWords(file, text string) (*vocabulary, error) {
	v := &vocabulary{}
	lists := map[string]*[]string{
		"failing": &v.failing, "status": &v.statusNames, "field": &v.fields, "cause": &v.causes, "amount-noun": &v.amountNouns,
		"ask": &v.asks, "asking": &v.asking, "preposition": &v.prepositions, "filler": &v.fillers,
		"instant": &v.instants, "remaining": &v.remaining, "ask-abroad": &v.asksAbroad,
		"denied": &v.denied, "echo": &v.echoes, "expired": &v.expired,
		"stop-field": &v.stopFields, "stop": &v.stops, "stop-name": &v.stopNames,
	}
	spans := map[string]*[]timeWord{"unit": &v.units, "unit-abroad": &v.unitsAbroad, "field-unit": &v.fieldUnits, "amount": &v.amounts}
	n := 0
	for line := range strings.Lines(text) {
		n++
		columns := columnsOf(line)
		if len(columns) == 0 || columns[0][0] == '#' {
			continue
		}
		name, of, _ := strings.Cut(columns[0], " ")
		all := strings.Split(columns[len(columns)-1], "|")
		list, timed := lists[name], spans[name]
		span, _ := time.ParseDuration(of)
		kind, unknown := kindOf(of)
		switch whole := len(columns) == 2 && !slices.Contains(all, ""); {
		case whole && list != nil && of == "":
			*list = append(*list, all...)
		case whole && timed != nil && span > 0:
			for _, w := range all {
				*timed = append(*timed, timeWord{w, span})
			}
		case whole && name == "reason" && unknown == nil:
			v.reasons[kind] = all[0]
		default:
			return nil, errors.New(file + ":" + strconv.Itoa(n) + ": want a list, the duration of words or the kind of a reason, and the words")
		}
	}
	for i, f := range v.fillers {
		v.fillers[i] = " " + f
	}
	for i, s := range v.stops {
		v.stops[i] = s + ": "
	}
	return v, nil
}
