package spool

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestCoder_ReturnsWhatItWasGiven(t *testing.T) {
	var c coder
	noise := make([]byte, blockSize)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	for _, plain := range [][]byte{{}, []byte("a"), []byte(strings.Repeat("hold the line ", 4000)), noise} {
		small := bytes.Clone(c.compress(plain, make([]byte, 0, len(plain)/2)))
		got := make([]byte, len(plain))
		if err := c.expand(small, got); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%d bytes, %d compressed: they come back changed, error %v", len(plain), len(small), err)
		}
	}
}

func TestCoder_NoticesDamage(t *testing.T) {
	var c coder
	plain := []byte(strings.Repeat("hold the line ", 4000))
	small := bytes.Clone(c.compress(plain, nil))
	got := make([]byte, len(plain))
	for i := range small {
		if i > 3 && i < 10 { // gzip's time and system, which are not read
			continue
		}
		damaged := bytes.Clone(small)
		damaged[i] ^= 0x10
		if err := c.expand(damaged, got); err == nil {
			t.Errorf("byte %d of %d changed: got no error", i, len(small))
		}
	}
	for _, size := range []int{0, len(plain) - 1, len(plain) + 1} {
		if err := c.expand(small, make([]byte, size)); err == nil {
			t.Errorf("%d bytes expanded to %d: got no error", len(plain), size)
		}
	}
	if err := c.expand(small[:len(small)-1], got); err == nil {
		t.Error("a block without its last byte: got no error")
	}
	if err := c.expand(small, got); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("after damaged blocks, a good one: error %v", err)
	}
}
