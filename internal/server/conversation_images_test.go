package server_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/ridethrough/ridethrough/internal/server/client"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
)

// shows returns the body of a turn with images.
func shows(text string, files ...[]byte) string {
	var images []string
	for _, f := range files {
		images = append(images, `{"name":"a.png","data":"`+base64.StdEncoding.EncodeToString(f)+`"}`)
	}
	return `{"text":"` + text + `","images":[` + strings.Join(images, ",") + `]}`
}

func TestSay_ImagesReachTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Late(time.Minute, llmtest.Says("one")), llmtest.Says("a cat"))
		c := p.create("")
		p.say(c, "wait")
		time.Sleep(time.Second)
		files := [][]byte{llmtest.PNG(640, 480, llm.MaxImage), llmtest.PNG(64, 48, llm.MaxImage), llmtest.PNG(6, 4, llm.MaxImage)}
		if status, d := p.ask("POST", "/"+c+"/turns", shows("What are these?", files...)); status != 202 {
			t.Fatalf("three of the largest images: got %d %v, want 202", status, d)
		}
		_, q := p.ask("GET", "/"+c+"/queue", "")
		text, _ := json.Marshal(q)
		if want := `"name":"a.png","width":640}`; !strings.Contains(string(text), want) || len(text) > 2000 {
			t.Errorf("queue: got %.2000s, want images described with %s", text, want)
		}
		time.Sleep(2 * time.Minute)
		got := p.model.Requests()[1].Messages[2].Content.Images()
		for i, f := range files {
			if i >= len(got) || !bytes.Equal(got[i].Data, f) {
				t.Errorf("image %d has not reached the model whole", i)
			}
		}
	})
}

func TestSocket_TakesImages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Says("a cat"))
		c := p.create("")
		file := llmtest.PNG(640, 480, llm.MaxImage)
		k := p.mustDial("/" + c + "/socket")
		body := `{"do":"say",` + strings.TrimPrefix(shows("What is it?", file), "{")
		if err := k.Write(t.Context(), websocket.MessageText, []byte(body)); err != nil {
			t.Fatalf("write: %v", err)
		}
		time.Sleep(time.Second)
		if got := p.model.Requests(); len(got) != 1 || !bytes.Equal(got[0].Messages[0].Content.Images()[0].Data, file) {
			t.Errorf("requests: got %d, want one with the whole image", len(got))
		}
		_ = k.CloseNow()
	})
}

func TestSay_RefusesImages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t)
		c := p.create("")
		many := make([][]byte, llm.MaxImages+1)
		for i := range many {
			many[i] = llmtest.PNG(1, 1, 100+i)
		}
		for _, tt := range []struct {
			status          int
			code, body, why string
		}{
			{400, "invalid-input", shows("hi", []byte("<svg/>")), "the image a.png is not a PNG, JPEG, GIF or WebP image"},
			{400, "invalid-input", shows("hi", llmtest.PNG(1, 1, llm.MaxImage+1)), "the image a.png is larger than 3.75 MiB"},
			{400, "invalid-input", shows("hi", many...), "21 images are more than the 20"},
			{400, "invalid-input", shows(" ", llmtest.PNG(1, 1, 100)), "it is empty"},
			{400, "invalid-input", `{"text":"hi","images":[{"data":"?"}]}`, "illegal base64"},
			{413, "too-large", shows("hi", make([]byte, 14<<20)), "the body is larger"},
		} {
			resp := p.send("POST", "/"+c+"/turns", tt.body)
			problem := map[string]any{}
			err := json.NewDecoder(resp.Body).Decode(&problem)
			_ = resp.Body.Close()
			if detail, _ := problem["detail"].(string); err != nil || resp.StatusCode != tt.status || problem["code"] != tt.code || !strings.Contains(detail, tt.why) {
				t.Errorf("got %d %v, %v; want %d %s: %s", resp.StatusCode, problem, err, tt.status, tt.code, tt.why)
			}
		}
		if _, v := p.ask("GET", "/"+c, ""); v["seq"] != 1.0 {
			t.Errorf("after refused turns: got seq %v, want nothing recorded", v["seq"])
		}
	})
}

func TestClient_SendsImages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newConversationServer(t, llmtest.Says("a cat"), llmtest.Says("a dog"))
		c := p.create("")
		i, err := llm.NewImage("a.png", llmtest.PNG(64, 48, 200_000))
		if err != nil {
			t.Fatalf("make image: %v", err)
		}
		to := client.Client{Base: "http://localhost", HTTP: &http.Client{Transport: p.client.Transport}}
		for _, err := range to.Say(t.Context(), c, "t1", "What is it?", i) {
			if err != nil {
				t.Fatalf("say: %v", err)
			}
		}
		if err := to.Put(t.Context(), c, "t2", "And this?", i); err != nil {
			t.Fatalf("put: %v", err)
		}
		time.Sleep(time.Second)
		for n, q := range p.model.Requests() {
			got := q.Messages[2*n].Content.Images()
			if len(got) != 1 || !bytes.Equal(got[0].Data, i.Data) || got[0].Name != "a.png" {
				t.Errorf("request %d: got %v, want %v whole", n, got, i)
			}
		}
	})
}
