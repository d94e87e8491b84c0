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
func (s server) blob(w http.ResponseWriter, asked call[none, none]) error {
	hash := asked.PathValue("hash")
	stored, err := s.Blob(hash)
	if err != nil {
		return err
	}
	header := w.Header()
	kind := backend.ImageType(stored.Body)
	switch {
	case kind != "":
	case utf8.Valid(stored.Body) && !bytes.ContainsRune(stored.Body, 0):
		kind = "text/plain; charset=utf-8"
	default:
		kind = "application/octet-stream"
		name := fmt.Sprintf("%.16s", stored.Hash)
		if file, ok := blobs.ParseFile(stored.Gist); ok {
			name = file.Name
		}
		header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	}
	header.Set("Content-Type", kind)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	header.Set("ETag", fmt.Sprintf("%q", stored.Hash))
	if header.Set("Cache-Control", "private, no-cache"); len(hash) == 64 { // what part of a hash means can change
		header.Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	http.ServeContent(w, asked.Request, "", time.Time{}, bytes.NewReader(stored.Body))
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

func (s server) upload(w http.ResponseWriter, asked call[uploading, none]) error {
	files, err := backend.Files(w, asked.Request)
	if err != nil {
		return err
	}
	defer asked.MultipartForm.RemoveAll()
	if others := len(asked.MultipartForm.Value); len(files) == 0 || others > 0 {
		return report.Invalid("the form has %d files and %d other fields; it is to have files only", len(files), others)
	}
	list := List[backend.Upload]{Items: []backend.Upload{}}
	for _, f := range files {
		one, err := s.Keep(f, cmp.Or(asked.params.User, s.User), time.Now())
		if err != nil {
			return err
		}
		list.Items = append(list.Items, one)
	}
	backend.WriteJSON(w, http.StatusCreated, list)
	return nil
}
