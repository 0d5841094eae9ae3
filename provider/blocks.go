package provider

import (
	"bufio"
	"cmp"
	"encoding/json"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/llm"
)

// blocks are the tool calls and signatures of an answer that come in pieces.
type blocks []block

// block is a call or a signature that may be incomplete.
type block struct {
	number    int
	id, name  string // of a call
	arguments []byte
	given     bool // the arguments came at once, and pieces replace them
	signature string
}

// callIDs returns the ids of a conversation's calls.
func callIDs(conversation []llm.Message) map[string]bool {
	ids := map[string]bool{}
	for _, m := range conversation {
		for _, call := range m.Content.Calls() {
			ids[call.ID] = true
		}
	}
	return ids
}

// add adds a piece of a call: to the one with this number, or as the start of another.
func (bs *blocks) add(number int, id, name string, written []byte) {
	at := bs.find(number)
	if at < 0 || (*bs)[at].isOther(id, name) {
		*bs = append(*bs, block{number: number})
		at = len(*bs) - 1
	}
	b := &(*bs)[at]
	b.id, b.name = cmp.Or(b.id, id), cmp.Or(b.name, name)
	piece := argumentsOf(written)
	if len(piece) == 0 {
		return
	}
	if b.given {
		b.arguments = b.arguments[:0]
	}
	b.given = written[0] != '"'
	b.arguments = append(b.arguments, piece...)
}

// argumentsOf returns arguments, which the APIs have as a text or as an object.
func argumentsOf(written []byte) []byte {
	switch {
	case len(written) == 0 || string(written) == "null":
		return nil
	case written[0] == '"':
		return []byte(api.TextOf(written))
	}
	return written
}

// isOther reports whether a piece with this id and name belongs to another call with the same number: servers that
// send whole calls may omit the number, and the id too.
func (b *block) isOther(id, name string) bool {
	if id != "" && b.id != "" {
		return id != b.id
	}
	return name != "" && b.name != "" && json.Valid(b.arguments)
}

// sign adds a piece of a signature.
func (bs *blocks) sign(number int, signature string) {
	at := bs.find(number)
	if at < 0 {
		*bs = append(*bs, block{number: number})
		at = len(*bs) - 1
	}
	(*bs)[at].signature += signature
}

// find returns the index of the last block with a number, or -1.
func (bs *blocks) find(number int) int {
	at := len(*bs) - 1
	for at >= 0 && (*bs)[at].number != number {
		at--
	}
	return at
}

// take returns a block, and forgets it.
func (bs *blocks) take(number int) (b block) {
	if at := bs.find(number); at >= 0 {
		b = (*bs)[at]
		*bs = append((*bs)[:at], (*bs)[at+1:]...)
	}
	return b
}

// firstByte returns the first byte that is not white space, which servers send as keepalive, without consuming it;
// 0: none.
func firstByte(body *bufio.Reader) byte {
	for {
		b, err := body.ReadByte()
		switch {
		case err != nil:
			return 0
		case b != ' ' && b != '\t' && b != '\r' && b != '\n':
			_ = body.UnreadByte() // it cannot fail after a read
			return b
		}
	}
}
