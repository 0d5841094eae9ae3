package gateway

import (
	"bytes"
	"compress/gzip"
	"io"

	"github.com/klauspost/compress/zstd"
)

// decompress unpacks a request's body to see what it asks for; nil: it cannot be
// unpacked, or is larger than the bound then. Codex sends zstd.
func decompress(coding string, packed []byte, limit int64) []byte {
	var src io.Reader
	switch coding {
	case "zstd":
		r, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(uint64(limit)))
		if err != nil {
			return nil
		}
		defer r.Close()
		src = r
	case "gzip", "x-gzip":
		r, err := gzip.NewReader(bytes.NewReader(packed))
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
