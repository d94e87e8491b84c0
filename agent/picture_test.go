package agent

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"
	"time"

	"lethe/agent/llm"
	"lethe/blobs"
	"lethe/bridge"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
)

// drawn is a picture of one colour.
func drawn(t testing.TB, width, height int, c color.Color) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for x := range width {
		for y := range height {
			m.Set(x, y, c)
		}
	}
	var b bytes.Buffer
	lethetest.Must(t, png.Encode(&b, m))
	return b.Bytes()
}

// attach stores a file as all bridges do, and returns what its line says of it.
func (w *world) attach(kind, mime string, data []byte) (tag, hash string) {
	w.Helper()
	h, tag, err := bridge.File{Kind: kind, Mime: mime}.Put(w.store, time.Now(), "ann", data)
	lethetest.Must(w, err)
	return tag, h.String()
}

// sees has identities ask a strict server that sees pictures.
func (w *world) sees() {
	w.Helper()
	w.serve(rehearsal.Options{Sees: true})
	w.conf.Known = llm.Known{"rehearsal": {Sees: true, Window: 1 << 20, Output: 1 << 16}}
	w.use(llm.Config{Blob: func(hash string) ([]byte, error) {
		h, err := blobs.ParseHash(hash)
		if err != nil {
			return nil, err
		}
		b, err := w.store.Get(h)
		return b.Body, err
	}})
}

// shown is how often the newest request of a turn shows pictures.
func (w *world) shown() int {
	return bytes.Count(w.newest().messages, []byte(`"type":"image_url"`))
}

// What people attach is shown to a model that sees; over kills and stops the requests of an epoch begin with the bytes of
// those before. It fades, and UNCOMPACT and READ_FILE show it again.
func TestPicturesAreSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sees()
	r := w.run(w.boot("ada", "dev"))
	large, hash := w.attach("photo", "image/png", drawn(t, 3200, 40, white))
	small, _ := w.attach("photo", "image/png", drawn(t, 4, 3, black))
	broken, _ := w.attach("photo", "image/png", drawn(t, 9, 9, black)[:50])
	r.ask("what is this? "+large+" "+broken, "and "+small)
	if got := w.shown(); got != 2 {
		t.Fatalf("%d pictures are shown, not 2\n%s", got, w.newest().messages)
	}
	heard := w.having(r.id, "inbound", "image", hash+":3200x40")
	if len(heard) != 1 || len(heard[0].All("image")) != 3 {
		t.Errorf("recorded as %v", heard)
	}
	for _, kind := range []string{"inbound", "reply"} {
		r = r.again(dieAt(kind, 1))
		w.say("dev", "ann", "again at "+kind)
		r.killed()
		r = w.run(r.id)
		r.settled()
	}
	r = r.again()
	r.ask("uncompact hash=" + hash[:16])
	if got := w.shown(); got != 4 || len(w.having(r.id, "result", "image", hash+":3200x40")) != 1 { // the question names it, too
		t.Errorf("%d pictures are shown behind UNCOMPACT, not 4", got)
	}
	for i := range 12 {
		r.ask(remark(i, 120))
	}
	r.compact()
	r.ask("hello")
	if got := w.shown(); got != 0 {
		t.Errorf("%d pictures are shown when they have faded", got)
	}
	r.ask("read hash=" + hash[:16])
	if got := w.shown(); got != 2 {
		t.Errorf("%d pictures are shown again, not 2", got)
	}
	r.checked()
	lethetest.Words(t, fmt.Sprint(w.results(r.id)), "received/"+hash[:16], "(a picture)")
}

// A model that does not see reads of pictures, and so does one that is used from some epoch on.
func TestPicturesAreToldToTheBlind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.run(w.boot("ada", "dev"))
	tag, hash := w.attach("photo", "image/png", drawn(t, 6, 4, white))
	r.ask("what is this? " + tag)
	want := tag + `\n[image hash=` + hash[:16] + ` 6x4]"`
	if got := string(w.newest().messages); !strings.Contains(got, want) {
		t.Errorf("%s is not in\n%s", want, got)
	}
	r.finish()
	w.stable(w.requests())
	w.sees()
	r = w.run(r.id)
	r.ask("and now?")
	if got := w.shown(); got != 1 {
		t.Errorf("%d pictures are shown to one that sees, not 1", got)
	}
	r.checked()
}

// A line shows eight pictures, agents show none of those that the identity may not open, and no more than have room.
func TestPicturesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sees()
	r := w.run(w.boot("ada", "dev"))
	var tags []string
	for i := range 9 {
		tag, _ := w.attach("photo", "image/png", drawn(t, 10+i, 4, white))
		tags = append(tags, tag)
	}
	r.ask(strings.Join(tags, " "))
	if got := w.shown(); got != 8 {
		t.Errorf("%d of 9 pictures are shown, not 8", got)
	}
	other, _ := w.attach("photo", "image/png", drawn(t, 30, 4, white))
	w.put("dev", "[AGENT:eve 2026-11-20T12:57:16Z] look: "+other+"\n")
	w.answered("dev", 2)
	r.settled()
	if got := w.shown(); got != 8 {
		t.Errorf("an agent shows what nobody has given: %d", got)
	}
	r.checked()
}

var white, black = color.White, color.Black
