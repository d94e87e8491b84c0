package backend

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/report"
	"lethe/internal/picture"
	"lethe/life"
)

// ImageType returns the media type of a picture that browsers may show, judged by its bytes, or "", as for SVG, which
// can hold scripts.
func ImageType(body []byte) string {
	kind := http.DetectContentType(body)
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) {
		return ""
	}
	return kind
}

// MaxBody bounds the JSON of a request, in bytes.
const MaxBody = 2 << 20

// ErrorBody is an error as JSON.
type ErrorBody struct {
	Error ErrorText `json:"error"`
}

// ErrorText has the words of an error, and advice where there is some.
type ErrorText struct {
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// StatusError is an error with its HTTP status.
type StatusError struct {
	error
	status int
	hint   string
}

// Refuse makes a StatusError; hint is advice, or "".
func Refuse(status int, hint, format string, args ...any) error {
	return &StatusError{fmt.Errorf(format, args...), status, hint}
}

func (e *StatusError) Unwrap() error { return e.error }

// Hint returns advice, or "".
func (e *StatusError) Hint() string { return e.hint }

// Status is the HTTP status of an error.
func Status(err error) int {
	var own *StatusError
	switch {
	case errors.As(err, &own):
		return own.status
	case errors.As(err, new(*report.InvalidError)), errors.As(err, new(*host.SettingsError)):
		return http.StatusBadRequest
	case errors.Is(err, home.ErrNotFound), errors.Is(err, blobs.ErrNotFound),
		errors.Is(err, report.ErrNoQuestion), errors.Is(err, report.ErrNoMatch):
		return http.StatusNotFound
	case errors.Is(err, home.ErrAmbiguous), errors.Is(err, ErrOtherBody), errors.Is(err, home.ErrExists),
		errors.As(err, new(*home.RunningError)):
		return http.StatusConflict
	case errors.Is(err, home.ErrHear):
		return http.StatusForbidden
	case errors.As(err, new(*http.MaxBytesError)):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout
	case errors.Is(err, home.ErrCorrupt), errors.Is(err, blobs.ErrDigest), errors.As(err, new(*life.CorruptError)):
		return http.StatusInternalServerError
	case errors.Is(err, fs.ErrNotExist):
		return http.StatusNotFound
	}
	return http.StatusInternalServerError
}

// Hint returns the advice of an error, or "".
func Hint(err error) string {
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		return hinted.Hint()
	}
	return ""
}

// WriteJSON answers with a value.
func WriteJSON(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value) // the client may be gone
}

// WriteError answers with what went wrong.
func WriteError(w http.ResponseWriter, err error) {
	WriteJSON(w, Status(err), ErrorBody{ErrorText{err.Error(), Hint(err)}})
}

// Read reads the JSON of a request into v. A member that v does not know is refused. No body is an empty object.
func Read(w http.ResponseWriter, r *http.Request, value any) error {
	if r.ContentLength == 0 && r.Header.Get("Content-Type") == "" {
		return nil
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return report.Invalid("the body is %q, and has to be application/json", kind)
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, MaxBody))
	dec.DisallowUnknownFields()
	if err := dec.Decode(value); err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
			return err
		}
		return &report.InvalidError{Err: fmt.Errorf("the body: %w", err)}
	}
	if _, err := dec.Token(); err != io.EOF {
		return report.Invalid("the body has more than one JSON value")
	}
	return nil
}

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
	large := func(f *multipart.FileHeader) bool { return f.Size > MaxFile }
	if len(files) > MaxFiles || slices.ContainsFunc(files, large) {
		return nil, tooMuch
	}
	return files, nil
}

var tooMuch = Refuse(http.StatusRequestEntityTooLarge, "send them in several requests, or smaller",
	"at most %d files of %d MB each are taken at once", MaxFiles, MaxFile>>20)

// Keep stores a file that user sent at some moment. The same file of the same moment and user makes
// the same blob, and so the same line.
func (b *Backend) Keep(upload *multipart.FileHeader, user string, at time.Time) (Upload, error) {
	in, err := upload.Open()
	if err != nil {
		return Upload{}, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, MaxFile))
	if err != nil {
		return Upload{}, err
	}
	kind := picture.MediaType(upload.Header.Get("Content-Type"), upload.Filename, data)
	file := bridge.File{Kind: picture.MediaKind(kind), Name: upload.Filename, Mime: kind}
	h, tag, err := file.Put(b.Store, at, user, data)
	return Upload{
		Hash: h, Name: bridge.Inert(upload.Filename), Type: bridge.Inert(kind), Size: len(data), Line: tag,
	}, err
}

// Place reads a parameter that is a place in a file, in bytes; -1 where it is not given.
func Place(r *http.Request, name string) (int64, error) {
	given := r.FormValue(name)
	if given == "" {
		return -1, nil
	}
	at, err := strconv.ParseInt(given, 10, 64)
	if err != nil || at < 0 {
		return 0, report.Invalid("%s has to be a place, a number of bytes, not %.40q", name, given)
	}
	return at, nil
}

// KeyTime returns the moment at which a form was made, by its key, so that a file in a form that is sent again is the
// same blob.
func KeyTime(key string) time.Time {
	sec, _, _ := strings.Cut(key, "-")
	at, err := strconv.ParseUint(sec, 10, 35)
	if err != nil {
		return time.Now()
	}
	return time.Unix(int64(at), 0)
}
