package conversation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/bolt"
	"github.com/ridethrough/ridethrough/turn"
)

// picture returns an image with a size in bytes.
func picture(t *testing.T, name string, size int) llm.Image {
	t.Helper()
	i, err := llm.NewImage(name, llmtest.PNG(640, 480, size))
	if err != nil {
		t.Fatalf("make image: %v", err)
	}
	return i
}

// show submits an input with images as another process would, which may die of it.
func (h *fixture) show(c, id, text string, images ...llm.Image) error {
	_, err := conversation.New(h.config).Submit(h.t.Context(), c, id, text, images...)
	return err
}

// wantShown checks the images of a request's last message.
func wantShown(t *testing.T, q llm.Request, want ...llm.Image) {
	t.Helper()
	got := q.Messages[len(q.Messages)-1].Content.Images()
	if len(got) != len(want) {
		t.Errorf("images in the last message: got %v, want %v", got, want)
		return
	}
	for i := range want {
		if got[i].ID != want[i].ID || got[i].Name != want[i].Name || !bytes.Equal(got[i].Data, want[i].Data) {
			t.Errorf("image %d: got %v of %d bytes, want %v of %d", i, got[i], len(got[i].Data), want[i], len(want[i].Data))
		}
	}
}

func TestSubmit_ImagesReachTheModelAndNoReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("a cat"), llmtest.Says("the same"))
		runner, _ := h.runner()
		c := h.create(runner)
		large, small := picture(t, "cat.png", llm.MaxImage), picture(t, "dog.png", 4000)
		for _, text := range []string{"What is it?", "And again?"} {
			if err := h.show(c, "", text, large, small); err != nil {
				t.Fatalf("submit: %v", err)
			}
			time.Sleep(time.Second)
		}
		asked := h.model.(*llmtest.Model).Requests()
		wantShown(t, asked[0], large, small)
		wantShown(t, asked[1], large, small)
		if files := count(kinds(t, h.engine, c), "image-stored"); files != 2 {
			t.Errorf("files of two images that were shown twice: got %d records, want 2", files)
		}
		described := 0
		for e, err := range runner.History(t.Context(), c, 0) {
			text, jsonErr := json.Marshal(e)
			if err := errors.Join(err, jsonErr); err != nil {
				t.Fatalf("history: %v", err)
			}
			if len(text) > 1000 {
				t.Errorf("an event of %d bytes, want none of the images'", len(text))
			}
			described += strings.Count(string(text), `"name":"cat.png","mediaType":"image/png","bytes":3932160,"width":640,"height":480}`)
		}
		if described != 4 {
			t.Errorf("descriptions of an image in two inputs and two messages: got %d, want 4", described)
		}
	})
}

// A process dies around each write of an input with two images. Submitted again, it is answered once, and whole.
func TestSubmit_ProcessDiesBetweenImages(t *testing.T) {
	for name, die := range map[string]func(*hookStore, func()){
		"before the first image":  func(m *hookStore, die func()) { m.before = once("image-stored", 1, die) },
		"after the first image":   func(m *hookStore, die func()) { m.after = once("image-stored", 1, die) },
		"before the second image": func(m *hookStore, die func()) { m.before = once("image-stored", 2, die) },
		"after the second image":  func(m *hookStore, die func()) { m.after = once("image-stored", 2, die) },
		"before the job":          func(m *hookStore, die func()) { m.offer = func(store.Job) error { die(); return nil } },
		"before the record":       func(m *hookStore, die func()) { m.before = once("input-queued", 1, die) },
		"after the record":        func(m *hookStore, die func()) { m.after = once("input-queued", 1, die) },
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newFixture(t, llmtest.Says("hi"), llmtest.Says("twice"))
			runner, _ := h.runner()
			c := h.create(runner)
			a, b := picture(t, "a.png", 5000), picture(t, "b.png", 6000)
			killed := &dyingStore{Store: h.engine}
			m := &hookStore{Store: killed}
			die(m, func() { killed.dead.Store(true) })
			h.config.Store = m
			_ = h.show(c, "t1", "hello", a, b)
			h.config.Store = h.engine
			if err := h.show(c, "t1", "hello", a, b); err != nil {
				t.Errorf("%s: again: %v", name, err)
			}
			time.Sleep(time.Minute)
			asked := h.model.(*llmtest.Model).Requests()
			if got := turns(t, runner, c); got["t1"] != turn.Done || len(asked) != 1 {
				t.Fatalf("%s: got turns %v and %d requests, want t1 done after one", name, got, len(asked))
			}
			wantShown(t, asked[0], a, b)
			if files := count(kinds(t, h.engine, c), "image-stored"); files != 2 {
				t.Errorf("%s: got %d files, want 2", name, files)
			}
		})
	}
}

// The largest input is kept on a disk while its provider is down, and sent by the next process.
func TestSubmit_ImagesOutlastTheProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("writes images of many megabytes to a file")
	}
	config := bolt.Config{Dir: t.TempDir(), Reserve: 1}
	h := newFixture(t)
	h.engine = opened(t, config)
	h.config.Store = h.engine
	c := h.create(conversation.New(h.config))
	images := []llm.Image{picture(t, "a.png", llm.MaxImage), picture(t, "b.png", llm.MaxImage-1), picture(t, "c.png", llm.MaxImage-2)}
	if err := h.show(c, "t1", "What are these?", images...); err != nil {
		t.Fatalf("submit: %v", err)
	}
	shut(t, h.engine)
	h.engine = opened(t, config)
	h.config.Store, h.model = h.engine, llmtest.New(large, llmtest.Says("an answer"))
	runner, end := h.runner()
	follow(t, runner, c, 0, 1)
	end()
	wantShown(t, h.model.(*llmtest.Model).Requests()[0], images...)
	shut(t, h.engine)
}

func TestSubmit_RefusesImages(t *testing.T) {
	h := newFixture(t)
	id := h.create(conversation.New(h.config))
	many := make([]llm.Image, llm.MaxImages+1)
	for i := range many {
		many[i] = picture(t, "", 100+i)
	}
	for _, c := range []struct {
		images []llm.Image
		want   string
	}{
		{[]llm.Image{{Name: "big.png", Data: llmtest.PNG(1, 1, llm.MaxImage+1)}}, "the image big.png is larger than 3.75 MiB"},
		{[]llm.Image{{MediaType: "image/png", Data: []byte("<svg/>")}}, "the image is not a PNG, JPEG, GIF or WebP image"},
		{[]llm.Image{{ID: "abc", MediaType: "image/png", Bytes: 100}}, "the image is not a PNG, JPEG, GIF or WebP image"}, // described only
		{many, "21 images are more than the 20"},
	} {
		if err := h.show(id, "", "hello", c.images...); !errors.Is(err, conversation.ErrInvalidText) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	if got := kinds(t, h.engine, id); len(got) != 1 {
		t.Errorf("records after refused inputs: got %v, want the first one only", got)
	}
}

func TestRunner_ImagesStayWithAnEditedInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Late(time.Minute, llmtest.Says("one")), llmtest.Says("two"))
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "first")
		time.Sleep(time.Second)
		i := picture(t, "a.png", 5000)
		if err := h.show(c, "t2", "What is it?", i); err != nil {
			t.Fatalf("submit: %v", err)
		}
		if err := runner.Edit(t.Context(), c, "t2", "What is this?"); err != nil {
			t.Fatalf("edit: %v", err)
		}
		if v, err := runner.Get(t.Context(), c); err != nil || len(v.Inputs) != 1 || len(v.Inputs[0].Images) != 1 {
			t.Errorf("the input that waits: got %+v, %v; want its image", v.Inputs, err)
		}
		time.Sleep(2 * time.Minute)
		q := h.model.(*llmtest.Model).Requests()[1]
		wantShown(t, q, i)
		if got := lastText(q); got != "What is this?" {
			t.Errorf("text: got %q, want the new one", got)
		}
	})
}

func TestRunner_ImagesSteerATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Fails(busy), llmtest.Fails(busy), llmtest.Says("one"))
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "first")
		i := picture(t, "a.png", 5000)
		time.Sleep(6 * time.Second)
		if err := errors.Join(h.show(c, "t2", "Look", i), runner.Steer(t.Context(), c, "t2")); err != nil {
			t.Fatalf("steer: %v", err)
		}
		time.Sleep(time.Minute)
		wantShown(t, h.model.(*llmtest.Model).Requests()[2], i)
	})
}

func TestRestore_TakesImagesAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := newFixture(t, llmtest.Says("a cat"))
		runner, end := old.runner()
		c := old.create(runner)
		i := picture(t, "a.png", 300_000)
		if err := old.show(c, "", "What is it?", i); err != nil {
			t.Fatalf("submit: %v", err)
		}
		time.Sleep(time.Second)
		end()
		h := newFixture(t, llmtest.Says("yes"))
		all := old.records(c)
		runner, _ = h.runner()
		h.restore(runner, c, all, len(all))
		h.say(runner, c, "Really?")
		time.Sleep(time.Second)
		q := h.model.(*llmtest.Model).Requests()[0]
		q.Messages = q.Messages[:1]
		wantShown(t, q, i)
	})
}

func TestSubmit_WithoutImagesHasNoMemberForThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("hi"))
		runner, _ := h.runner()
		c := h.create(runner)
		h.say(runner, c, "hello")
		time.Sleep(time.Second)
		for _, r := range h.records(c) {
			if strings.Contains(string(r.Body), "images") {
				t.Errorf("a record of an input without images: got %s %s", r.Type, r.Body)
			}
		}
	})
}

// Records of programs that knew no images, and one whose file is lost.
func TestRunner_ReadsRecordsWithoutImages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, llmtest.Says("yes"))
		record := func(turnID, kind, body string) store.Record {
			return store.Record{Time: time.Now(), Turn: turnID, Type: kind, Body: json.RawMessage(body)}
		}
		h.fill("c", []store.Record{
			record("", "conversation-created", `{"format":1,"model":"acme/large"}`),
			record("t1", "input-queued", `{"conversationId":"c","turnId":"t1","text":"hello"}`),
			record("t1", "turn-running", `{"epoch":1,"job":"j"}`),
			record("t1", "turn-start", `{"conversationId":"c","turnId":"t1","id":"t1"}`),
			record("t1", "user-message", `{"conversationId":"c","turnId":"t1","text":"hello"}`),
			record("t1", "assistant-message", `{"conversationId":"c","turnId":"t1","provider":"acme","model":"large","content":[{"type":"text","text":"hi"}]}`),
			record("t1", "turn-sealed", `{"conversationId":"c","turnId":"t1","status":"done"}`),
			record("t2", "input-queued", `{"conversationId":"c","turnId":"t2","text":"look","images":[{"id":"abc","name":"a.png","mediaType":"image/png","bytes":9,"width":1,"height":1}]}`),
		})
		runner, _ := h.runner()
		h.say(runner, "c", "are you there?")
		time.Sleep(time.Minute)
		asked := h.model.(*llmtest.Model).Requests()
		if len(asked) == 0 {
			t.Fatal("no request, want one for the input of the record")
		}
		want := []string{"hello", "hi", "[An image (a.png) is not in the record any more.]\nlook"}
		for i, m := range asked[0].Messages {
			if got := m.Text(); i >= len(want) || got != want[i] {
				t.Errorf("message %d: got %q, want %q", i, got, want[min(i, len(want)-1)])
			}
		}
	})
}

func TestTurnEvents_HaveTheFilesOfTheirImages(t *testing.T) {
	i, now := picture(t, "a.png", 5000), time.Now()
	created, err := conversation.CreatedRecord(conversation.Settings{}, now)
	files, errFiles := conversation.ImageRecords("t1", []llm.Image{i}, now)
	said, errSaid := conversation.EventRecord("c", "t1", turn.UserMessage{Text: "What is it?", Images: []llm.Image{i}}, now)
	if err := errors.Join(err, errFiles, errSaid); err != nil {
		t.Fatalf("records: %v", err)
	}
	events, err := conversation.TurnEvents(append(append([]store.Record{created}, files...), said))
	if err != nil || len(events) != 1 || events[0].TurnID != "t1" {
		t.Fatalf("events: got %v, %v; want that of the turn", events, err)
	}
	m := events[0].Event.(turn.UserMessage)
	if len(m.Images) != 1 || !bytes.Equal(m.Images[0].Data, i.Data) || m.Images[0].Name != "a.png" {
		t.Errorf("images of the message: got %v, want %v whole", m.Images, i)
	}
	if events, err = conversation.TurnEvents([]store.Record{created, said}); err != nil || events[0].Event.(turn.UserMessage).Images[0].Data != nil {
		t.Errorf("without the file: got %v, %v; want an image that is only described", events, err)
	}
}

func TestList_TitleOfAnInputBehindManyImages(t *testing.T) {
	h := newFixture(t)
	runner := conversation.New(h.config)
	c := h.create(runner)
	images := make([]llm.Image, llm.MaxImages)
	for i := range images {
		images[i] = picture(t, "", 100+i)
	}
	if err := h.show(c, "", "What are these?", images...); err != nil {
		t.Fatalf("submit: %v", err)
	}
	for v, err := range conversation.New(h.config).List(context.Background(), "") {
		if err != nil || v.Settings.Title != "What are these?" {
			t.Errorf("title: got %q, %v; want the first words", v.Settings.Title, err)
		}
	}
}

func TestCache_BoundsTheBytesOfImages(t *testing.T) {
	const some = 50 << 20
	for _, tt := range []struct {
		sizes []int
		want  int
	}{{[]int{0, 0, 0}, 3}, {[]int{some, some, 0}, 3}, {[]int{some, some, some}, 2}, {[]int{0, 3 * some}, 1}} {
		if got := conversation.CachedOf(tt.sizes...); got != tt.want {
			t.Errorf("conversations with images of %v bytes: got %d in memory, want %d", tt.sizes, got, tt.want)
		}
	}
}
