package simulator

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/internal/api"
)

// Image is a picture that a request contains.
type Image struct {
	MediaType string // as the request states it; "": it does not, as Ollama's
	Bytes     int    // after base64; 0: that is damaged
	SHA256    string // of the bytes, in hex
}

// imageMarks are the members of which one is in every request with an image.
var imageMarks = [...]string{`"image`, `"inlineData"`, `"images"`}

// imagesIn returns the images of a request to any of the APIs, in order.
func imagesIn(body []byte) []Image {
	marked := func(mark string) bool { return bytes.Contains(body, []byte(mark)) }
	if !slices.ContainsFunc(imageMarks[:], marked) || !json.Valid(body) {
		return nil
	}
	return appendImages(nil, body)
}

// appendImages appends the images in a JSON value.
func appendImages(images []Image, value []byte) []Image {
	if i, ok := imageOf(value); ok {
		return append(images, i)
	}
	for one := range api.Elements(value) {
		images = appendImages(images, one)
	}
	for name, one := range api.Members(value) {
		if string(name) != "images" {
			images = appendImages(images, one)
			continue
		}
		for file := range api.Elements(one) { // Ollama
			images = append(images, decodedImage("", api.TextOf(file)))
		}
	}
	return images
}

// imageOf returns the image that an object is: a block of Anthropic's, a part of OpenAI's or of Gemini's.
func imageOf(object []byte) (Image, bool) {
	text := func(path ...string) string { return api.TextOf(api.At(object, path...)) }
	has := func(member string) bool { return bytes.HasPrefix(api.Member(object, member), []byte{'{'}) }
	url, isURL := strings.CutPrefix(text("image_url")+text("image_url", "url"), "data:")
	switch {
	case text("type") == "image" && has("source"):
		return decodedImage(text("source", "media_type"), text("source", "data")), true
	case has("inlineData"):
		return decodedImage(text("inlineData", "mimeType"), text("inlineData", "data")), true
	case isURL:
		mediaType, data, _ := strings.Cut(url, ";base64,")
		return decodedImage(mediaType, data), true
	}
	return Image{}, false
}

// decodedImage returns an image in base64.
func decodedImage(mediaType, text string) Image {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return Image{MediaType: mediaType}
	}
	sum := sha256.Sum256(data)
	return Image{mediaType, len(data), hex.EncodeToString(sum[:])}
}
