package api

import (
	"bytes"
	"cmp"
	"fmt"
	"mime"
	"net/http"
	"reflect"
	"time"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
)

// blob prints a blob so that no browser runs what is in it, whatever its sender said that it is.
func (s server) blob(w http.ResponseWriter, c call[none, none]) error {
	hash := c.PathValue("hash")
	b, err := s.Blob(hash)
	if err != nil {
		return err
	}
	h := w.Header()
	kind := backend.ImageType(b.Body)
	switch {
	case kind != "":
	case utf8.Valid(b.Body) && !bytes.ContainsRune(b.Body, 0):
		kind = "text/plain; charset=utf-8"
	default:
		kind = "application/octet-stream"
		name := fmt.Sprintf("%.16s", b.Hash)
		if file, ok := blobs.ParseFile(b.Gist); ok {
			name = file.Name
		}
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	}
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	h.Set("ETag", fmt.Sprintf("%q", b.Hash))
	if h.Set("Cache-Control", "private, no-cache"); len(hash) == 64 { // what part of a hash means can change
		h.Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	http.ServeContent(w, c.Request, "", time.Time{}, bytes.NewReader(b.Body))
	return nil
}

type uploading struct {
	User string `name:"user" about:"Who sends them; by default the user of the server."`
}

// form is a body of files, under any names.
type form struct{}

var uploads = func() route {
	t := raw[uploading, List[backend.Upload]]("POST", "/api/uploads",
		"Store up to 8 files of 10 MB each. Say line of each in a room, and whoever hears it may open the file.",
		jsonMedia, server.upload)
	t.body, t.bodyMedia, t.status = reflect.TypeFor[form](), "multipart/form-data", http.StatusCreated
	return t
}()

func (s server) upload(w http.ResponseWriter, c call[uploading, none]) error {
	files, err := backend.Files(w, c.Request)
	if err != nil {
		return err
	}
	defer c.MultipartForm.RemoveAll()
	if others := len(c.MultipartForm.Value); len(files) == 0 || others > 0 {
		return report.Invalid("the form has %d files and %d other fields; it is to have files only", len(files), others)
	}
	l := List[backend.Upload]{Items: []backend.Upload{}}
	for _, f := range files {
		one, err := s.Keep(f, cmp.Or(c.params.User, s.User), time.Now())
		if err != nil {
			return err
		}
		l.Items = append(l.Items, one)
	}
	backend.WriteJSON(w, http.StatusCreated, l)
	return nil
}
