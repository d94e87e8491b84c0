package backend

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/bridge"
	"lethe/report"
)

// What is taken of files at once.
const (
	MaxFiles = 8
	MaxFile  = 10 << 20 // bytes
)

// Upload is a file that was stored.
type Upload struct {
	Hash blobs.Hash `json:"hash"`
	Name string     `json:"name"`
	Type string     `json:"type"` // as its sender said, or as its bytes look
	Size int        `json:"bytes"`
	// Line names the file in a line of a room. Whoever hears the line may open it.
	Line string `json:"line"`
}

// Files reads a form that may hold files, with all its bounds. The caller removes the form.
func Files(w http.ResponseWriter, r *http.Request) ([]*multipart.FileHeader, error) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "multipart/form-data" {
		return nil, report.Invalid("the body is %q; files come as multipart/form-data", kind)
	}
	if err := r.ParseMultipartForm(1 << 20); err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
			return nil, tooMuch
		}
		return nil, report.Invalid("the form cannot be read: %v", err)
	}
	var files []*multipart.FileHeader
	for _, some := range r.MultipartForm.File {
		files = append(files, some...)
	}
	for _, f := range files {
		if f.Size > MaxFile {
			return nil, tooMuch
		}
	}
	if len(files) > MaxFiles {
		return nil, tooMuch
	}
	return files, nil
}

var tooMuch = Refuse(http.StatusRequestEntityTooLarge, "send them in several requests, or smaller", "at most %d files of %d MB each are taken at once", MaxFiles, MaxFile>>20)

// Keep stores a file that user sent at some moment. The same file of the same moment and user makes
// the same blob, and so the same line.
func (b *Backend) Keep(f *multipart.FileHeader, user string, at time.Time) (Upload, error) {
	in, err := f.Open()
	if err != nil {
		return Upload{}, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, MaxFile))
	if err != nil {
		return Upload{}, err
	}
	kind, _, err := mime.ParseMediaType(f.Header.Get("Content-Type"))
	if err != nil || kind == "application/octet-stream" {
		kind, _, _ = strings.Cut(http.DetectContentType(data), ";")
	}
	file := bridge.File{Kind: "document", Name: f.Filename, Mime: kind}
	major, _, _ := strings.Cut(kind, "/")
	if name, ok := map[string]string{"image": "photo", "audio": "audio", "video": "video"}[major]; ok {
		file.Kind = name
	}
	h, tag, err := file.Put(b.Store, at, user, data)
	return Upload{Hash: h, Name: bridge.Inert(f.Filename), Type: bridge.Inert(kind), Size: len(data), Line: tag}, err
}
