package simulator

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
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
func imagesIn(body []byte) (images []Image) {
	for _, mark := range imageMarks {
		if bytes.Contains(body, []byte(mark)) {
			var all any
			if json.Unmarshal(body, &all) == nil {
				images = appendImages(images, all)
			}
			return images
		}
	}
	return nil
}

// appendImages appends the images in a JSON value. Members of an object have no order: of those that vendors use, one
// has an image only.
func appendImages(images []Image, value any) []Image {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			images = appendImages(images, one)
		}
	case map[string]any:
		if i, ok := imageOf(v); ok {
			return append(images, i)
		}
		if files, ok := v["images"].([]any); ok { // Ollama
			for _, file := range files {
				text, _ := file.(string)
				images = append(images, decodedImage("", text))
			}
		}
		for name, one := range v {
			if name != "images" {
				images = appendImages(images, one)
			}
		}
	}
	return images
}

// imageOf returns the image that an object is: a block of Anthropic's, a part of OpenAI's or of Gemini's.
func imageOf(v map[string]any) (Image, bool) {
	text := func(in map[string]any, member string) string {
		s, _ := in[member].(string)
		return s
	}
	object := func(member string) map[string]any {
		o, _ := v[member].(map[string]any)
		return o
	}
	url := text(v, "image_url") + text(object("image_url"), "url")
	switch source, inline := object("source"), object("inlineData"); {
	case text(v, "type") == "image" && source != nil:
		return decodedImage(text(source, "media_type"), text(source, "data")), true
	case inline != nil:
		return decodedImage(text(inline, "mimeType"), text(inline, "data")), true
	case strings.HasPrefix(url, "data:"):
		mediaType, data, _ := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
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
