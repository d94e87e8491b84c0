package backend

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"

	"lethe/agent"
	"lethe/blobs"
	"lethe/life"
	"lethe/report"
)

// MaxBody bounds the JSON of a request, in bytes.
const MaxBody = 2 << 20

// ErrorBody is the JSON of what went wrong.
type ErrorBody struct {
	Error ErrorText `json:"error"`
}

// ErrorText says what went wrong, and what to do where there is something.
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

// Refuse makes a StatusError; hint says what to do, or is "".
func Refuse(status int, hint, format string, args ...any) error {
	return &StatusError{fmt.Errorf(format, args...), status, hint}
}

func (e *StatusError) Unwrap() error { return e.error }

// Hint says what to do about it, or "".
func (e *StatusError) Hint() string { return e.hint }

// Status is the HTTP status of an error.
func Status(err error) int {
	var own *StatusError
	switch {
	case errors.As(err, &own):
		return own.status
	case errors.As(err, new(*report.InvalidError)), errors.As(err, new(*agent.SettingsError)):
		return http.StatusBadRequest
	case errors.Is(err, agent.ErrNotFound), errors.Is(err, blobs.ErrNotFound), errors.Is(err, report.ErrNoQuestion), errors.Is(err, report.ErrNoMatch):
		return http.StatusNotFound
	case errors.Is(err, agent.ErrAmbiguous), errors.As(err, new(*blobs.AmbiguousError)), errors.Is(err, ErrOtherBody):
		return http.StatusConflict
	case errors.As(err, new(*http.MaxBytesError)):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, agent.ErrCorrupt), errors.Is(err, blobs.ErrDigest), errors.As(err, new(*life.CorruptError)):
		return http.StatusInternalServerError
	case errors.Is(err, fs.ErrNotExist):
		return http.StatusNotFound
	}
	return http.StatusInternalServerError
}

// WriteJSON answers with a value.
func WriteJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client may be gone
}

// WriteError answers with what went wrong.
func WriteError(w http.ResponseWriter, err error) {
	text := ErrorText{Message: err.Error()}
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		text.Hint = hinted.Hint()
	}
	WriteJSON(w, Status(err), ErrorBody{text})
}

// Read reads the JSON of a request into v. A member that v does not know is refused. No body is an empty object.
func Read(w http.ResponseWriter, r *http.Request, v any) error {
	if r.ContentLength == 0 && r.Header.Get("Content-Type") == "" {
		return nil
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return report.Invalid("the body is %q, and has to be application/json", kind)
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, MaxBody))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
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
