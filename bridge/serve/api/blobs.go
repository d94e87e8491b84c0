package api

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/bridge/serve/backend"
	"lethe/report"
)

type ofBlob struct {
	Hash string `name:"hash" in:"path" about:"The hash of a stored text or file: 64 hex digits, or at least the first 3."`
}

// images are the kinds that a browser may show. SVG is none of them: it can hold scripts.
var images = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// blob prints a blob so that no browser runs what is in it, whatever its sender said that it is.
func (s server) blob(w http.ResponseWriter, r *http.Request, p ofBlob) error {
	b, err := s.Blob(strings.ToLower(p.Hash))
	if err != nil {
		return err
	}
	h := w.Header()
	kind := http.DetectContentType(b.Body)
	switch {
	case slices.Contains(images, kind):
	case utf8.Valid(b.Body) && !bytes.ContainsRune(b.Body, 0):
		kind = "text/plain; charset=utf-8"
	default:
		kind = "application/octet-stream"
		h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%.16s"`, b.Hash))
	}
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	h.Set("ETag", fmt.Sprintf("%q", b.Hash))
	if h.Set("Cache-Control", "private, no-cache"); len(p.Hash) == 64 { // what part of a hash means can change
		h.Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b.Body))
	return nil
}

// BlobMeta describes a blob.
type BlobMeta struct {
	Hash    blobs.Hash `json:"hash"`
	At      time.Time  `json:"at"`
	Gist    string     `json:"gist"`
	Life    string     `json:"life,omitempty"` // the identity that it belongs to
	Parent  blobs.Hash `json:"parent,omitzero"`
	Summary string     `json:"summary,omitempty"`
	Bytes   int        `json:"bytes"`
}

func (s server) blobMeta(_ *http.Request, p ofBlob) (BlobMeta, error) {
	b, err := s.Blob(strings.ToLower(p.Hash))
	return BlobMeta{b.Hash, b.At, b.Gist, b.Life, b.Parent, b.Summary, len(b.Body)}, err
}

type uploading struct {
	User string `name:"user" about:"Who sends them; by default the user of the server."`
}

// form is a body of files, under any names.
type form struct{}

// uploads is the route that takes a form of files.
func uploads(f func(w http.ResponseWriter, r *http.Request, p uploading) error) route {
	t := raw[uploading, List[backend.Upload]]("POST", "/api/uploads", "Store up to 8 files of 10 MB each. Say line of each in a room, and whoever hears it may open the file.", jsonMedia, f)
	t.body, t.bodyMedia, t.status = reflect.TypeFor[form](), "multipart/form-data", http.StatusCreated
	return t
}

func (s server) upload(w http.ResponseWriter, r *http.Request, p uploading) error {
	files, err := backend.Files(w, r)
	if err != nil {
		return err
	}
	defer r.MultipartForm.RemoveAll()
	if len(files) == 0 || len(r.MultipartForm.Value) > 0 {
		return report.Invalid("the form has %d files and %d other fields; it is to have files only", len(files), len(r.MultipartForm.Value))
	}
	l := List[backend.Upload]{Items: []backend.Upload{}}
	for _, f := range files {
		one, err := s.Keep(f, cmp.Or(p.User, s.User), time.Now())
		if err != nil {
			return err
		}
		l.Items = append(l.Items, one)
	}
	backend.WriteJSON(w, http.StatusCreated, l)
	return nil
}
