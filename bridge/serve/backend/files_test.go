package backend

import (
	"bytes"
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
	"lethe/internal/test/lethetest"
)

func TestFiles(t *testing.T) {
	b := open(t, t.TempDir())
	form := func(n, size int) (*http.Request, *httptest.ResponseRecorder) {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		for i := range n {
			part, err := w.CreatePart(textproto.MIMEHeader{
				"Content-Disposition": {fmt.Sprintf(`form-data; name="file"; filename="..\\x] hash=0123456789abcdef %d.svg"`, i)},
				"Content-Type":        {"image/svg+xml"},
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
			if len(stored.Body) != c.size || u.Size != c.size || strings.Count(u.Line, "hash=") != 1 ||
				strings.Count(u.Line, "]") != 1 || len(blobs.Mentions(u.Line)) != 1 || !strings.HasPrefix(u.Hash.String(), blobs.Mentions(u.Line)[0]) {
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
