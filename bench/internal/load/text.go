// Package load plays the clients of the benchmark: it sends requests over
// kept connections and reads of the answers what must be known of them and no
// more, so that the clients cost less than the proxies they measure.
package load

import (
	"math/rand/v2"
	"strings"
)

// The vocabulary of a book: the words that make up half of any English text,
// most frequent first, and stems that take endings.
const (
	particles = `the of and to a in is that it for as was with be by on not this are or at from which but have an they you were her all
		his there been if more when will would who so no out up into do any your what has them its than my only some could time these two may
		then other now over such our even most me after also made did many before must through back years where much way well down should because
		each just those people how too little state good very make world still own see men work long get here between both life being under never
		day same another know while last might us great old year off come since against go came right used take three`
	stems = `system model answer question request token context prompt agent function return value error message content window record
		budget report review change branch commit merge test build deploy server client network packet header buffer stream socket thread process
		memory kernel driver device signal measure figure table column query index schema cursor transact account customer invoice payment refund
		order shipment market price margin forecast quarter revenue profit contract clause party obligation notice court statute appeal evidence
		patient doctor symptom diagnosis treat dosage clinic nurse surgery recover fever river mountain valley forest harvest winter summer storm
		weather cloud rain wind ocean island harbor village city street bridge castle garden window kitchen dinner bread butter sugar coffee water
		letter paper author chapter story novel poem music guitar piano concert theatre picture colour shadow light mirror engine wheel motor
		battery circuit current voltage resist turbine reactor physics chemic atom molecule electron gravity planet orbit rocket launch mission
		captain soldier army border treaty minister parliament elect vote party debate policy reform school teacher student lesson exam college
		library research journal theory method sample result conclude argue suggest explain describe consider believe remember forget discover
		invent design improve reduce increase compare select reject accept propose support oppose prevent protect attack defend follow travel
		arrive depart wander settle gather collect divide combine connect separate attach remove replace repair destroy create produce consume
		deliver receive transfer transport borrow repay invest recover expand contract simple complex modern ancient narrow broad gentle severe
		quiet loud bright dark heavy light rapid slow strong weak honest clever curious patient careful sudden common rare local global public
		private formal casual central remote perfect broken empty crowded fresh stale sharp smooth rough steady fragile hidden visible certain`
	endings = ` s ed ing er ly ness able ment al ful`
)

// Book writes ordinary prose for prompts. It compresses as English does, to about a third, which neither random
// bytes nor a repeated line would. A Book is for one goroutine.
type Book struct {
	dice       *rand.Rand
	paragraphs []string
	requests   int64 // written so far
}

// NewBook writes a book; the same seed writes the same.
func NewBook(seed uint64) *Book {
	b := &Book{dice: rand.New(rand.NewPCG(seed, 1))}
	words := vocabulary(b.dice)
	zipf := rand.NewZipf(b.dice, 1.01, 8, uint64(len(words)-1))
	b.paragraphs = make([]string, 2000)
	for i := range b.paragraphs {
		b.paragraphs[i] = paragraph(b.dice, words, zipf)
	}
	return b
}

func vocabulary(dice *rand.Rand) []string {
	words := strings.Fields(particles)
	var rest []string
	for _, stem := range strings.Fields(stems) {
		for ending := range strings.SplitSeq(endings, " ") {
			rest = append(rest, stem+ending)
		}
	}
	dice.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	return append(words, rest...)
}

// paragraph writes about 2 KB, ready for a JSON string.
func paragraph(dice *rand.Rand, words []string, zipf *rand.Zipf) string {
	var p strings.Builder
	for p.Len() < 2000 {
		for i := range 6 + dice.IntN(18) {
			word := words[zipf.Uint64()]
			if i == 0 {
				p.WriteString(strings.ToUpper(word[:1]) + word[1:])
				continue
			}
			p.WriteString(" " + word)
			if dice.IntN(12) == 0 {
				p.WriteString(",")
			}
		}
		p.WriteString(". ")
	}
	p.WriteString(`\n\n`)
	return p.String()
}

// Text returns n bytes of prose, ready for a JSON string. Each call returns different text.
func (b *Book) Text(n int) string {
	var text strings.Builder
	text.Grow(n + 4096)
	for text.Len() < n {
		text.WriteString(b.paragraphs[b.dice.IntN(len(b.paragraphs))])
	}
	whole := strings.TrimRight(text.String()[:n], `\`) // without half an escape
	return whole + strings.Repeat(" ", n-len(whole))
}
