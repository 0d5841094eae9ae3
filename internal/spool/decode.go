package spool

import (
	"bytes"
	"compress/gzip"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Decode decodes a body of a Content-Encoding; nil: the encoding is not known,
// the body is damaged, or the content exceeds the limit. Codex sends zstd.
func Decode(encoding string, body []byte, limit int64) []byte {
	var src io.Reader
	switch encoding {
	case "zstd":
		r, err := zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(uint64(limit)))
		if err != nil {
			return nil
		}
		defer r.Close()
		src = r
	case "gzip", "x-gzip":
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil
		}
		src = r
	default:
		return nil
	}
	plain, err := io.ReadAll(io.LimitReader(src, limit+1))
	if err != nil || int64(len(plain)) > limit {
		return nil
	}
	return plain
}
