package page

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"lethe/bridge/serve/backend"
	"lethe/internal/test/lethetest"
)

// A browser gets gzip if it takes it, and nothing that it does not take. Ranges count the bytes of the file itself.
func TestZip(t *testing.T) {
	_, mux := old(t, 1)
	script := "/page/" + version() + "/page.js"
	plain := get(t, mux, script)
	for _, c := range []struct {
		takes, ranges string
		path          string
		status        int
		zipped        bool
	}{
		{takes: "gzip, deflate, br, zstd", path: script, status: 200, zipped: true},
		{takes: "br, gzip;q=0.5", path: script, status: 200, zipped: true},
		{takes: "zstd", path: script, status: 200},
		{takes: "gzip;q=0", path: script, status: 200},
		{takes: "", path: script, status: 200},
		{takes: "gzip", path: script, ranges: "bytes=0-2999", status: 206},
		{takes: "gzip", path: script, ranges: "bytes=0-2999,5000-8999", status: 206},
		{takes: "gzip", path: "/agents/nobody/now", status: 404, zipped: true},
		{takes: "gzip", path: "/page/" + version() + "/nothing", status: 404},
	} {
		r, w := httptest.NewRequest("GET", c.path, nil), httptest.NewRecorder()
		r.Header.Set("Accept-Encoding", c.takes)
		r.Header.Set("Range", c.ranges)
		mux.ServeHTTP(w, r)
		if w.Code != c.status || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%+v: %d, %v", c, w.Code, w.Header())
		}
		if kind := w.Header().Get("Content-Encoding"); (kind == "gzip") != c.zipped || kind != "" && kind != "gzip" {
			t.Errorf("%+v is encoded as %q", c, kind)
		}
		if c.status != http.StatusOK {
			continue
		}
		var body io.Reader = w.Body
		if c.zipped {
			z, err := gzip.NewReader(body)
			lethetest.Must(t, err)
			body = z
		}
		got, err := io.ReadAll(body)
		lethetest.Must(t, err)
		if string(got) != plain {
			t.Errorf("%+v: %d bytes came of %d", c, len(got), len(plain))
		}
	}
}

// An answer that breaks off does not look whole, although what was written of it is compressed.
func TestZipBreaksOff(t *testing.T) {
	noise := make([]byte, 100_000)
	for i := range noise {
		noise[i] = byte(i * i >> 3)
	}
	srv := httptest.NewServer(backend.Zip(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for range 20 {
			_, _ = w.Write(noise)
		}
		panic(http.ErrAbortHandler)
	}))
	defer srv.Close()
	r, err := http.NewRequest("GET", srv.URL, http.NoBody)
	lethetest.Must(t, err)
	r.Header.Set("Accept-Encoding", "gzip")
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("%d bytes look like all of an answer", len(got))
	}
}
