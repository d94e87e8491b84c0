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

	"lethe/agent"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/lethetest"
)

// Titles, archived rooms and what was read are kept over a restart; a new line brings a room back.
func TestRoomNotes(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	line := func(agent bool, name, text string) {
		raw, err := chat.Format(agent, name, time.Now(), text)
		lethetest.Must(t, err)
		_, _, err = chat.Append(chat.Path(dir, "dev"), raw)
		lethetest.Must(t, err)
	}
	is := func(title string, archived bool, unread int) Room {
		t.Helper()
		r, err := b.Room("dev")
		if err != nil || r.Title != title || r.Archived != archived || r.Unread != unread {
			t.Fatalf("%+v, %v; want %q %v %d", r, err, title, archived, unread)
		}
		return r
	}
	if _, err := b.Room("dev"); !errors.Is(err, agent.ErrNotFound) {
		t.Fatal(err)
	}
	if _, made, err := b.MakeRoom("dev", "The  \x1btalk", nil); err != nil || !made {
		t.Fatal(made, err)
	}
	if _, made, err := b.MakeRoom("dev", "", nil); err != nil || made {
		t.Fatal(made, err)
	}
	is("The ␛talk", false, 0)
	yes, no := true, false
	if r, err := b.NoteRoom("dev", Note{Archived: &yes}); err != nil || !r.Archived {
		t.Fatal(r, err)
	}
	lethetest.Must(t, b.Bridge.Close())
	b = open(t, dir)
	is("The ␛talk", true, 0)
	if all, err := b.NotedRooms(false); err != nil || len(all) != 0 {
		t.Error(all, err)
	}
	line(true, "lethe", "one")
	line(false, "bob", "two")
	r := is("The ␛talk", false, 2)
	if all, err := b.NotedRooms(false); err != nil || len(all) != 1 || all[0].Last.Text != "two" {
		t.Error(all, err)
	}
	if _, err := b.NoteRoom("dev", Note{Read: &r.Last.From, Archived: &no}); err != nil {
		t.Error(err)
	}
	is("The ␛talk", false, 1)
	line(false, "ada", "who speaks has read what stands before")
	line(true, "lethe", "three")
	is("The ␛talk", false, 1)
	far := int64(1 << 40)
	if _, err := b.NoteRoom("dev", Note{Read: &far}); Status(err) != 400 {
		t.Error(err)
	}
	for _, name := range []string{"../x", "", "none"} {
		if _, err := b.NoteRoom(name, Note{Archived: &yes}); Status(err) != 404 {
			t.Errorf("%q: %v", name, err)
		}
	}
	// A damaged file is kept.
	lethetest.Must(t, b.Bridge.Close())
	lethetest.Write(t, filepath.Join(dir, "bridges", Name, "rooms.json"), `{"dev":`)
	b = open(t, dir)
	is("", false, 1)
	if kept, _ := filepath.Glob(filepath.Join(dir, "bridges", Name, "rooms.json.damaged-*")); len(kept) != 1 {
		t.Error(kept)
	}
}

// The page has the file as this program reads it.
func TestRoomsPage(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	lethetest.Write(t, filepath.Join(dir, "bridges", Name, "rooms.json"), lethetest.Blocks(t, "bridges.md", "rooms.json")[0])
	lethetest.Must(t, b.readNotes())
	if dev, old := b.notes.rooms["dev"], b.notes.rooms["old"]; dev.Title != "The harbour" || dev.Read != 229 || *old.Archived != 52 {
		t.Errorf("%+v, %+v", dev, old)
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
