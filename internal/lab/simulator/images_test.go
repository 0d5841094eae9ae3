package simulator_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// hi is an image of two bytes.
var hi = simulator.Image{MediaType: "image/png", Bytes: 2, SHA256: "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"}

// pictured are requests with that image, in each API's form, and what its model says that takes none.
var pictured = []struct {
	path, content, refusal string
	status                 int
}{
	{messages, `"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}]`, "does not support image input", 400},
	{completions, `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}]`, "image_url is only supported by certain models", 400},
	{responses, `"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,aGk="}]}]`, "image_url is only supported by certain models", 400},
	{"/v1beta/models/MODEL:generateContent", `"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}]`, "Image input modality is not enabled for models/text-only", 400},
	{ollamaChat, `"messages":[{"role":"user","content":"What?","images":["aGk="]}]`, "missing data required for image input", 500},
	{studioLike, `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}]`, "Model does not support images", 400},
}

func TestProvider_SaysWhichImagesHaveArrived(t *testing.T) {
	for _, tt := range pictured {
		for _, model := range []string{"any", "text-only"} {
			p := simulator.New(simulator.Script{})
			url := strings.Replace(tt.path, "MODEL", model, 1)
			if strings.HasPrefix(url, "/") {
				url = "http://provider.test" + url
			}
			resp, err := p.Client().Post(url, "application/json", strings.NewReader(`{"model":"`+model+`","max_tokens":9,`+tt.content+`}`))
			if err != nil {
				t.Fatalf("%s: %v", url, err)
			}
			body, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			refused := resp.StatusCode == tt.status && strings.Contains(string(body), tt.refusal)
			if model == "any" && resp.StatusCode != 200 || model == "text-only" && !refused {
				t.Errorf("%s, %s: got %d %.300s, want an answer or %d %s", url, model, resp.StatusCode, body, tt.status, tt.refusal)
			}
			want := hi
			if tt.path == ollamaChat {
				want.MediaType = ""
			}
			if got := p.Requests()[0].Images; !slices.Equal(got, []simulator.Image{want}) {
				t.Errorf("%s: images: got %v, want %v", url, got, want)
			}
			if err := p.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
	}
}
