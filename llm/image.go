package llm

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
)

// The bounds of images, which every provider takes. Anthropic's is 5 MiB in base64 and 8000 pixels each way, that
// of Amazon Bedrock 20 images in a message, and that of Gemini 20 MB in a request. Sources:
// platform.claude.com/docs/en/build-with-claude/vision, docs.aws.amazon.com/bedrock (Converse, ImageBlock) and
// ai.google.dev/gemini-api/docs/image-understanding.
const (
	MaxImage      = 3_932_160 // bytes of one
	MaxImages     = 20        // in a message
	MaxImageBytes = 12 << 20  // of all in a message
	maxSide       = 8000      // pixels
	maxName       = 255       // bytes of a name; the rest is cut off
)

// Image is a picture that the user shows to the model: a PNG, JPEG, GIF or WebP. [NewImage] makes one of a file.
type Image struct {
	ID        string `json:"id"`            // a digest of its bytes: the same picture has the same one
	Name      string `json:"name,omitzero"` // of its file; no provider gets it
	MediaType string `json:"mediaType"`     // "image/png", "image/jpeg", "image/gif" or "image/webp"
	Bytes     int    `json:"bytes"`         // the size of its file
	Width     int    `json:"width"`         // in pixels
	Height    int    `json:"height"`        // in pixels
	Data      []byte `json:"-"`             // the whole file; nil: it is only described, as in events
}

func (Image) block() {}

// NewImage returns the picture in a file. Its type is that of the bytes, whatever the name is. The error is what is
// wrong with the image, such as "is larger than 3.75 MiB".
func NewImage(name string, data []byte) (Image, error) {
	name = strings.ToValidUTF8(name[:min(len(name), maxName)], "")
	i := Image{Name: name, MediaType: ImageType(data), Bytes: len(data), Data: data}
	switch {
	case i.MediaType == "":
		return Image{}, errors.New("is not a PNG, JPEG, GIF or WebP image")
	case len(data) > MaxImage:
		return Image{}, errors.New("is larger than 3.75 MiB, which not every provider takes")
	}
	i.Width, i.Height = imageSize(i.MediaType, data)
	switch {
	case i.Width < 1 || i.Height < 1:
		return Image{}, errors.New("is damaged: it does not say how many pixels it has")
	case i.Width > maxSide || i.Height > maxSide:
		return Image{}, errors.New("has " + i.pixels() + " pixels, more than " + strconv.Itoa(maxSide) + " each way")
	}
	sum := sha256.Sum256(data)
	i.ID = hex.EncodeToString(sum[:16])
	return i, nil
}

// pixels returns the size as "640 x 480".
func (i Image) pixels() string { return strconv.Itoa(i.Width) + " x " + strconv.Itoa(i.Height) }

// String describes the image in a few words: "image a.png, 640 x 480, 120 KB". Its name is as the user has it.
func (i Image) String() string {
	text := "image"
	if i.Name != "" {
		text += " " + i.Name
	}
	if i.Width > 0 {
		text += ", " + i.pixels()
	}
	return text + ", " + size(i.Bytes)
}

// size returns a number of bytes as people read it.
func size(bytes int) string {
	if bytes < 1000 {
		return strconv.Itoa(bytes) + " bytes"
	}
	if bytes < 999_500 {
		return strconv.Itoa((bytes+500)/1000) + " KB"
	}
	tenths := (bytes + 50_000) / 100_000
	return strconv.Itoa(tenths/10) + "." + strconv.Itoa(tenths%10) + " MB"
}

// CheckImages returns what is wrong with the images of a message taken together; nil: nothing.
func CheckImages(images []Image) error {
	total := 0
	for _, i := range images {
		total += i.Bytes
	}
	switch {
	case len(images) > MaxImages:
		return errors.New(strconv.Itoa(len(images)) + " images are more than the " + strconv.Itoa(MaxImages) + " that a message may have")
	case total > MaxImageBytes:
		return errors.New("the images of a message may have " + strconv.Itoa(MaxImageBytes>>20) + " MiB together")
	}
	return nil
}

// Tokens estimates what the image costs as input: a token for 750 pixels, as at Anthropic, and as many as for an image
// of 1568 x 784 at most, to which providers make a larger one smaller.
func (i Image) Tokens() int {
	const each, most = 750, 1640
	if i.Width < 1 || i.Height < 1 {
		return most
	}
	return min(i.Width*i.Height/each+1, most)
}

// ImageType returns the media type of an image by how its file begins, or "" if [Image] does not support it.
func ImageType(data []byte) string {
	begins := string(data[:min(len(data), 12)])
	switch {
	case strings.HasPrefix(begins, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case strings.HasPrefix(begins, "\xff\xd8\xff"):
		return "image/jpeg"
	case strings.HasPrefix(begins, "GIF87a"), strings.HasPrefix(begins, "GIF89a"):
		return "image/gif"
	case strings.HasPrefix(begins, "RIFF") && strings.HasSuffix(begins, "WEBP"):
		return "image/webp"
	}
	return ""
}

// imageSize returns the pixels of an image as its header states them; 0: it does not.
func imageSize(mediaType string, data []byte) (width, height int) {
	little, big := binary.LittleEndian, binary.BigEndian
	switch {
	case mediaType == "image/png" && len(data) >= 24 && string(data[12:16]) == "IHDR":
		return int(big.Uint32(data[16:])), int(big.Uint32(data[20:]))
	case mediaType == "image/gif" && len(data) >= 10:
		return int(little.Uint16(data[6:])), int(little.Uint16(data[8:]))
	case mediaType == "image/jpeg":
		return jpegSize(data[2:])
	case mediaType == "image/webp" && len(data) >= 30:
		return webpSize(string(data[12:16]), data[20:30])
	}
	return 0, 0
}

// jpegSize finds the size among the segments of a JPEG: it is in the header of the frame, whose mark is one of 16.
func jpegSize(data []byte) (width, height int) {
	for len(data) >= 4 && data[0] == 0xff {
		mark, length := data[1], int(binary.BigEndian.Uint16(data[2:]))
		notFrame := mark == 0xc4 || mark == 0xc8 || mark == 0xcc
		switch {
		case mark == 0xff: // filler
			data = data[1:]
			continue
		case mark&0xf0 == 0xc0 && !notFrame && len(data) >= 9:
			return int(binary.BigEndian.Uint16(data[7:])), int(binary.BigEndian.Uint16(data[5:]))
		case length < 2 || len(data) < 2+length:
			return 0, 0
		}
		data = data[2+length:]
	}
	return 0, 0
}

// webpSize reads the size from the first ten bytes of a WebP's first chunk, which is lossy, lossless or extended.
func webpSize(chunk string, data []byte) (width, height int) {
	little := binary.LittleEndian
	switch {
	case chunk == "VP8 " && string(data[3:6]) == "\x9d\x01\x2a":
		return int(little.Uint16(data[6:]) & 0x3fff), int(little.Uint16(data[8:]) & 0x3fff)
	case chunk == "VP8L" && data[0] == 0x2f:
		bits := little.Uint32(data[1:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case chunk == "VP8X":
		return int(little.Uint32(data[4:])&0xffffff) + 1, int(little.Uint32(data[6:])>>8) + 1
	}
	return 0, 0
}
