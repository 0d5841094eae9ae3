package llm_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
)

// encoded returns a picture of 70 x 50 pixels in a format.
func encoded(t testing.TB, encode func(io.Writer, image.Image) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, image.NewPaletted(image.Rect(0, 0, 70, 50), color.Palette{color.Black, color.White})); err != nil {
		t.Fatalf("encode: %v", err)
	}
	return b.Bytes()
}

// webp returns the beginning of a WebP with one chunk.
func webp(chunk string, data ...byte) []byte {
	head := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(12+len(data)))
	head = binary.LittleEndian.AppendUint32(append(head, "WEBP"+chunk...), uint32(len(data)))
	return append(head, data...)
}

func TestNewImage_KnowsItsTypeAndSizeByItsBytes(t *testing.T) {
	inGIF := func(w io.Writer, i image.Image) error { return gif.Encode(w, i, nil) }
	inJPEG := func(w io.Writer, i image.Image) error { return jpeg.Encode(w, i, nil) }
	plain := encoded(t, inJPEG)
	exif := append(bytes.Clone(plain[:2]), append([]byte("\xff\xe1\x00\x0aExif\x00\x00\xff\xc0\xff"), plain[2:]...)...)
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"png":               {encoded(t, png.Encode), "image/png"},
		"gif.txt":           {encoded(t, inGIF), "image/gif"},
		"jpeg.png":          {plain, "image/jpeg"},
		"jpeg behind exif":  {exif, "image/jpeg"},
		"webp, lossy":       {webp("VP8 ", 0, 0, 0, 0x9d, 1, 0x2a, 70, 0, 50, 0), "image/webp"},
		"webp, lossless":    {webp("VP8L", 0x2f, 0x45, 0x40, 0x0c, 0, 0, 0, 0, 0, 0), "image/webp"},
		"webp, extended":    {webp("VP8X", 0, 0, 0, 0, 69, 0, 0, 49, 0, 0), "image/webp"},
		"the largest image": {llmtest.PNG(70, 50, llm.MaxImage), "image/png"},
	} {
		i, err := llm.NewImage(name, tt.data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !bytes.Equal(i.Data, tt.data) {
			t.Errorf("%s: got other bytes than those of the file", name)
		}
		i.Data = nil
		want := llm.Image{ID: i.ID, Name: name, MediaType: tt.want, Bytes: len(tt.data), Width: 70, Height: 50}
		if diff := cmp.Diff(want, i); diff != "" || len(i.ID) != 32 {
			t.Errorf("%s: image (-want +got):\n%s", name, diff)
		}
	}
}

func TestNewImage_SaysWhatIsWrong(t *testing.T) {
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":       {nil, "is not a PNG, JPEG, GIF or WebP image"},
		"a drawing":     {[]byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), "is not a PNG, JPEG, GIF or WebP image"},
		"a sound":       {append([]byte("RIFF\x00\x00\x00\x00WAVE"), make([]byte, 30)...), "is not a PNG, JPEG, GIF or WebP image"},
		"too large":     {llmtest.PNG(70, 50, llm.MaxImage+1), "is larger than 3.75 MiB"},
		"too wide":      {llmtest.PNG(8001, 50, 100), "has 8001 x 50 pixels"},
		"half a header": {llmtest.PNG(70, 50, 100)[:20], "is damaged"},
		"half a jpeg":   {[]byte("\xff\xd8\xff\xe1\xff\xff\x00"), "is damaged"},
	} {
		if _, err := llm.NewImage("x", tt.data); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

func TestNewImage_BoundsItsName(t *testing.T) {
	i, err := llm.NewImage(strings.Repeat("é", 200), llmtest.PNG(70, 50, 100))
	if want := strings.Repeat("é", 127); err != nil || i.Name != want {
		t.Errorf("name of 400 bytes: got %q, %v; want %q", i.Name, err, want)
	}
}

func TestCheckImages_BoundsThoseOfAMessage(t *testing.T) {
	for _, tt := range []struct {
		images []llm.Image
		ok     bool
	}{
		{nil, true},
		{make([]llm.Image, llm.MaxImages), true},
		{make([]llm.Image, llm.MaxImages+1), false},
		{[]llm.Image{{Bytes: llm.MaxImageBytes}}, true},
		{[]llm.Image{{Bytes: llm.MaxImageBytes}, {Bytes: 1}}, false},
	} {
		if err := llm.CheckImages(tt.images); (err == nil) != tt.ok {
			t.Errorf("%d images: got %v, want an error: %t", len(tt.images), err, !tt.ok)
		}
	}
}

func TestContent_ImageJSONRoundTrip(t *testing.T) {
	i, err := llm.NewImage("a.png", llmtest.PNG(70, 50, 100))
	if err != nil {
		t.Fatalf("make image: %v", err)
	}
	content := llm.Content{i, llm.Text{Text: "What is this?"}}
	text, err := json.Marshal(content)
	var back llm.Content
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if diff := cmp.Diff(content, back); err != nil || diff != "" {
		t.Errorf("content after a round trip: %v (-want +got):\n%s", err, diff)
	}
	if err := json.Unmarshal([]byte(`[{"type":"image","mediaType":"image/png","data":"aGk="}]`), &back); err == nil {
		t.Error("bytes that are no image: no error, want one")
	}
}

func TestImage_TokensFollowItsPixels(t *testing.T) {
	for _, tt := range []struct{ width, height, want int }{{0, 0, 1640}, {10, 10, 1}, {750, 100, 101}, {8000, 8000, 1640}} {
		if got := (llm.Image{Width: tt.width, Height: tt.height}).Tokens(); got != tt.want {
			t.Errorf("tokens of %d x %d pixels: got %d, want %d", tt.width, tt.height, got, tt.want)
		}
	}
}

func TestImage_StringDescribesIt(t *testing.T) {
	for want, i := range map[string]llm.Image{
		"image a.png, 640 x 480, 120 KB": {Name: "a.png", Width: 640, Height: 480, Bytes: 119_600},
		"image, 1 x 2, 1.2 MB":           {Width: 1, Height: 2, Bytes: 1_234_000},
		"image b, 999 bytes":             {Name: "b", Bytes: 999},
	} {
		if got := i.String(); got != want {
			t.Errorf("string: got %q, want %q", got, want)
		}
	}
}

func FuzzNewImage(f *testing.F) {
	f.Add(encoded(f, png.Encode))
	f.Add(encoded(f, func(w io.Writer, i image.Image) error { return jpeg.Encode(w, i, nil) }))
	f.Add(encoded(f, func(w io.Writer, i image.Image) error { return gif.Encode(w, i, nil) }))
	f.Add(webp("VP8X", 0, 0, 0, 0, 69, 0, 0, 49, 0, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		i, err := llm.NewImage("x", data)
		if err == nil && (i.Width < 1 || i.Height < 1 || i.MediaType == "" || i.Bytes != len(data)) {
			t.Errorf("an image without an error: %#v", i)
		}
	})
}
