package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/bridge/serve/backend"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// old is an identity with a LIFE of so many lines: turns of a question, a call and an answer.
func old(t testing.TB, lines int) (*backend.Backend, *http.ServeMux) {
	t.Helper()
	b := open(t, t.TempDir())
	age(t, b, lines)
	mux := http.NewServeMux()
	Routes(mux, b)
	return b, mux
}

// age boots an identity whose LIFE has so many lines, and its room as many.
func age(t testing.TB, b *backend.Backend, lines int) {
	t.Helper()
	id, err := home.Boot(b.Home.Home, b.Store, home.BootOptions{Name: "ada", Rooms: []string{"dev"}})
	lethetest.Must(t, err)
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	put := func(gist, text string) blobs.Ref {
		h, err := b.Store.Put(blobs.Meta{At: at, Gist: gist, Life: id.Self}, []byte(text))
		lethetest.Must(t, err)
		return blobs.Ref{Hash: b.Store.Short(h), Gist: gist}
	}
	said := put("dev: how is the build", "[USER:grace 2026-11-20T09:00:00Z] how is the build?\n")
	answer := "It is green. " + strings.Repeat("All of its steps have passed. ", 10)
	reply := put("turn 1", string(mind.Answer{Text: answer}.Encode()))
	log, err := life.Open(id.LIFE())
	lethetest.Must(t, err)
	defer log.Close()
	s := mind.New()
	s.Self = id.Self
	var room bytes.Buffer
	for n := range lines / 200 {
		body, err := json.Marshal(s)
		lethetest.Must(t, err)
		chunk := []life.Event{event.Line(at, event.Epoch{Why: "count"}, put("epoch", string(body)))}
		for range 100 {
			at = at.Add(5 * time.Minute)
			s.Turn++
			chunk = append(chunk,
				event.Line(at, event.Inbound{N: s.Next, Passage: event.Passage{Room: "dev", At: event.Span{To: 51}}, Lines: 1}, said),
				event.Line(at, event.Reply{N: s.Next + 1, Turn: s.Turn, Model: "rehearsal", Finish: "stop"}, reply))
			s.Next += 2
			for _, agent := range []bool{false, true} {
				line, err := chat.Format(agent, map[bool]string{true: "ada", false: "grace"}[agent], at,
					map[bool]string{true: answer, false: "how is the build?"}[agent])
				lethetest.Must(t, err)
				room.Write(line)
			}
		}
		most := len(chunk)
		if n == lines/200-1 {
			most = 3 // as an identity appends; what is newest is read by appends
		}
		for some := range slices.Chunk(chunk, most) {
			lethetest.Must(t, log.Append(some...))
		}
	}
	lethetest.Must(t, os.WriteFile(chat.Path(b.Dir, "dev"), room.Bytes(), 0o600))
}

func get(t testing.TB, mux http.Handler, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	if w.Code != 200 {
		t.Fatalf("%s: %d\n%.2000s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// Going back by windows shows each turn once.
func TestLifeByWindows(t *testing.T) {
	_, mux := old(t, 1000)
	seen := map[string]int{}
	at := "/agents/ada/life"
	for at != "" {
		page := get(t, mux, at)
		for _, piece := range strings.Split(page, ">Turn ")[1:] {
			n, _, _ := strings.Cut(piece, "<")
			seen[n]++
		}
		at = ""
		if _, rest, more := strings.Cut(page, `href="?kind=&amp;before=`); more {
			to, _, _ := strings.Cut(rest, `"`)
			at = "/agents/ada/life?before=" + to
		}
	}
	for n := 1; n <= 500; n++ {
		if seen[fmt.Sprint(n)] != 1 {
			t.Fatalf("turn %d is shown %d times; %d turns in all", n, seen[fmt.Sprint(n)], len(seen))
		}
	}
}

// The page is small, and short addresses lead to Now.
func TestWeight(t *testing.T) {
	_, mux := old(t, 200)
	sent := func(path string) int {
		r, w := httptest.NewRequest("GET", path, nil), httptest.NewRecorder()
		r.Header.Set("Accept-Encoding", "gzip, br")
		mux.ServeHTTP(w, r)
		if w.Code != 200 || w.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %d, %v", path, w.Code, w.Header())
		}
		return w.Body.Len()
	}
	shared, scripts := 0, 0
	for _, name := range []string{"style.css", "page.js", "favicon.svg"} {
		shared += sent("/page/" + version() + "/" + name)
	}
	for _, name := range []string{"page.js", "worker.js"} {
		scripts += len(get(t, mux, "/page/"+version()+"/"+name))
	}
	for _, v := range views {
		if !v.Apart {
			page := sent("/agents/ada/" + v.Name)
			if t.Logf("%s: %d bytes, and %d of style and script", v.Name, page, shared); page+shared > 50_000 {
				t.Errorf("%s is too large", v.Name)
			}
		}
	}
	if scripts > 16_000 {
		t.Errorf("all scripts together have %d bytes", scripts)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/agents/nobody/now", nil))
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), `<a href="/">`) {
		t.Errorf("an identity that is not there: %d, %s", w.Code, w.Body)
	}
	for _, short := range []string{"/", "/agents/ada", "/agents/ada/"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", short, nil))
		lethetest.Equal(t, short, w.Header().Get("Location"), "/agents/ada/now")
	}
}

// A room whose last line is not finished, or blank, goes on live; a window into its past does not.
func TestLiveAtTheEnd(t *testing.T) {
	b, mux := old(t, 200)
	room, err := os.OpenFile(chat.Path(b.Dir, "dev"), os.O_APPEND|os.O_WRONLY, 0)
	lethetest.Must(t, err)
	defer room.Close()
	for _, end := range []string{"", "\n \n", "[USER:bob 2026-11-21T09:00:00Z] half a"} {
		_, err = room.WriteString(end)
		lethetest.Must(t, err)
		for query, live := range map[string]bool{"": true, "line=0": false, "before=20000": false, "from=35000": true} {
			if page := get(t, mux, "/agents/ada/now?room=dev&"+query); strings.Contains(page, "data-live") != live {
				t.Errorf("%q behind %q: live is not %v", query, end, live)
			}
		}
	}
}

// BenchmarkViews opens views of an identity whose LIFE has 100,000 lines.
func BenchmarkViews(b *testing.B) {
	_, mux := old(b, 100_000)
	for _, view := range []string{"now", "life", "life?kind=trouble", "mind", "forgetting", "cost", "triggers"} {
		b.Run(view, func(b *testing.B) {
			cpu(b, func() { get(b, mux, "/agents/ada/"+view) })
		})
	}
}
