package botapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxBody bounds a request.
const maxBody = 16 << 20

// refusal is an answer that is an error.
type refusal struct {
	status      int
	description string
	retryAfter  int   // seconds
	migrateTo   int64 // chat id
}

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status: status, description: fmt.Sprintf(format, args...)}
}

func bad(format string, args ...any) *refusal {
	return refuse(http.StatusBadRequest, "Bad Request: "+format, args...)
}

// tooMany is the refusal of one who is too fast.
func tooMany(seconds int) *refusal {
	r := refuse(http.StatusTooManyRequests, "Too Many Requests: retry after %d", seconds)
	r.retryAfter = seconds
	return r
}

type parameters struct {
	RetryAfter int   `json:"retry_after,omitempty"`
	MigrateTo  int64 `json:"migrate_to_chat_id,omitempty"`
}

type answer struct {
	OK          bool        `json:"ok"`
	Result      any         `json:"result,omitempty"`
	ErrorCode   int         `json:"error_code,omitempty"`
	Description string      `json:"description,omitempty"`
	Parameters  *parameters `json:"parameters,omitempty"`
}

func (r *refusal) body() []byte {
	a := answer{ErrorCode: r.status, Description: r.description}
	if r.retryAfter != 0 || r.migrateTo != 0 {
		a.Parameters = &parameters{r.retryAfter, r.migrateTo}
	}
	return encode(a)
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // values of this package and of the client's types
		panic(err)
	}
	return b
}

func send(w http.ResponseWriter, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	if w.Header().Get("Content-Length") == "" {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has left hears nothing
}

// A form is a request's parameters: texts as they are, all else as JSON.
type form struct{ texts map[string]string }

// parse reads a request's parameters, which are one JSON object.
func parse(r *http.Request) (form, *refusal) {
	f := form{texts: map[string]string{}}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	switch {
	case err != nil:
		return f, refuse(http.StatusRequestEntityTooLarge, "Request Entity Too Large")
	case r.URL.RawQuery != "" || r.Header.Get("Content-Type") != "application/json":
		return f, bad("this server reads JSON alone")
	case !utf8.Valid(body):
		return f, bad("strings must be encoded in UTF-8")
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return f, bad("can't parse the JSON object: %v", err)
	}
	for name, raw := range object {
		text := string(raw)
		if text == "null" {
			continue
		}
		if raw[0] == '"' {
			if err := json.Unmarshal(raw, &text); err != nil {
				return f, bad("can't parse parameter %q: %v", name, err)
			}
		}
		if strings.ContainsRune(text, 0) {
			return f, bad("strings must be encoded in UTF-8")
		}
		f.texts[name] = text
	}
	return f, nil
}

// unknown are the parameters that the method with parameters of type t has not.
func (f form) unknown(t reflect.Type) []string {
	var names []string
	for name := range f.texts {
		if _, ok := field(t, name); !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func field(t reflect.Type, name string) (reflect.StructField, bool) {
	return t.FieldByNameFunc(func(n string) bool {
		f, _ := t.FieldByName(n)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return tag == name
	})
}

// decode fills dest, a pointer to a struct whose json tags name the parameters.
func (f form) decode(dest any) *refusal {
	v := reflect.ValueOf(dest).Elem()
	for name, text := range f.texts {
		sf, ok := field(v.Type(), name)
		if !ok {
			continue // refused before
		}
		raw := []byte(text)
		if sf.Type.Kind() == reflect.String {
			raw = encode(text)
		}
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		d.UseNumber()
		if err := d.Decode(v.FieldByIndex(sf.Index).Addr().Interface()); err != nil {
			return bad("can't parse parameter %q: %v", name, err)
		}
	}
	return nil
}
