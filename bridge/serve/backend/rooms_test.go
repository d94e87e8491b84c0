package backend

import (
	"bytes"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/home"
	"lethe/internal/test/lethetest"
)

// What was read is kept over a restart; marks that cannot be read are as none, and earlier ones are read.
func TestMarks(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	line := func(agent bool, name, text string) {
		raw, err := chat.Format(agent, name, time.Now(), text)
		lethetest.Must(t, err)
		_, _, err = chat.Append(chat.Path(dir, "dev"), raw)
		lethetest.Must(t, err)
	}
	unread := func(n int) Room {
		t.Helper()
		all, err := b.MarkedRooms()
		if err != nil || len(all) != 1 || all[0].Unread != n {
			t.Fatalf("%+v, %v; want %d", all, err, n)
		}
		return all[0]
	}
	if _, err := b.Room("dev"); !errors.Is(err, home.ErrNotFound) {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if _, made, err := b.MakeRoom("dev"); err != nil || made != want {
			t.Fatal(made, err)
		}
	}
	unread(0)
	line(true, "lethe", "one")
	line(false, "bob", "two")
	r := unread(2)
	if r.Last.Text != "two" {
		t.Errorf("%+v", r.Last)
	}
	if _, err := b.MarkRead("dev", Mark{r.Last.From}); err != nil {
		t.Error(err)
	}
	unread(1)
	line(false, "ada", "who speaks has read what stands before")
	line(true, "lethe", "three")
	lethetest.Must(t, b.Bridge.Close())
	b = open(t, dir)
	unread(1)
	if _, err := b.MarkRead("dev", Mark{1 << 40}); Status(err) != 400 {
		t.Error(err)
	}
	for _, name := range []string{"../x", "", "none"} {
		if _, err := b.MarkRead(name, Mark{}); Status(err) != 404 {
			t.Errorf("%q: %v", name, err)
		}
	}
	path := filepath.Join(dir, "bridges", Name, "rooms.json")
	lethetest.Write(t, path, `{"dev":{"title":"The harbour","archived":52,"read":1}}`) // of an earlier version
	unread(1)
	lethetest.Write(t, path, `{"dev":`)
	unread(1)
	lethetest.Write(t, path, lethetest.Blocks(t, "bridge-files.md", "rooms.json")[0])
	if marks, err := b.readMarks(); err != nil || marks["dev"].Read != 229 {
		t.Errorf("%v, %v", marks, err)
	}
}

func TestFiles(t *testing.T) {
	b := open(t, t.TempDir())
	form := func(n, size int) (*http.Request, *httptest.ResponseRecorder) {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		for i := range n {
			part, err := w.CreatePart(textproto.MIMEHeader{
				"Content-Disposition": {fmt.Sprintf(`form-data; name="file"; filename="..\\x] hash=0123456789abcdef %d.svg"`, i)}, "Content-Type": {"image/svg+xml"},
			})
			lethetest.Must(t, err)
			part.Write(bytes.Repeat([]byte("<"), size))
		}
		lethetest.Must(t, w.Close())
		r := httptest.NewRequest("POST", "/", &body)
		r.Header.Set("Content-Type", w.FormDataContentType())
		return r, httptest.NewRecorder()
	}
	for _, c := range []struct{ n, size, want int }{{8, 1000, 200}, {9, 1, 413}, {1, MaxFile, 200}, {1, MaxFile + 1, 413}} {
		r, w := form(c.n, c.size)
		files, err := Files(w, r)
		if (err == nil) != (c.want == 200) || err != nil && Status(err) != c.want {
			t.Fatalf("%+v: %v", c, err)
		}
		for _, f := range files {
			u, err := b.Keep(f, "ada", time.Now())
			lethetest.Must(t, err)
			stored, err := b.Store.Get(u.Hash)
			lethetest.Must(t, err)
			if len(stored.Body) != c.size || u.Size != c.size || strings.Count(u.Line, "hash=") != 1 || strings.Count(u.Line, "]") != 1 || len(blobs.Mentions(u.Line)) != 1 || !strings.HasPrefix(u.Hash.String(), blobs.Mentions(u.Line)[0]) {
				t.Fatalf("%d bytes stored of %+v", len(stored.Body), u)
			}
		}
		if r.MultipartForm != nil {
			lethetest.Must(t, r.MultipartForm.RemoveAll())
		}
	}
	r := httptest.NewRequest("POST", "/", strings.NewReader("x"))
	if _, err := Files(httptest.NewRecorder(), r); Status(err) != 400 {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(b.Dir, "chats", "dev.md")); err == nil {
		t.Error("a file alone makes a room")
	}
}
