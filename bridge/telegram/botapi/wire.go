package botapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxBody bounds a request; the real server takes files of 50 MB.
const maxBody = 51 << 20

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

func (r *refusal) write(w http.ResponseWriter) {
	send(w, r.status, "application/json", r.body())
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

// A form is a request's parameters, from the query, from multipart/form-data,
// from a urlencoded or a JSON body: texts in every case, as for the real server,
// and JSON where a parameter is not a text.
type form struct {
	texts map[string]string
	files map[string]upload
}

type upload struct {
	name string
	data []byte
}

// parse reads a request's parameters. The real server takes what it understands;
// here what is twice, malformed or of an unknown type is refused.
func parse(r *http.Request) (form, *refusal) {
	f := form{texts: map[string]string{}, files: map[string]upload{}}
	body, err := whole(r.Body)
	if err != nil {
		return f, refuse(http.StatusRequestEntityTooLarge, "Request Entity Too Large")
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return f, bad("can't parse the query: %v", err)
	}
	if ref := f.values(query); ref != nil || len(body) == 0 {
		return f, ref
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return f, bad("can't parse Content-Type: %v", err)
	}
	switch kind {
	case "multipart/form-data":
		return f, f.multipart(body, params["boundary"])
	case "application/json":
		return f, f.json(body)
	case "application/x-www-form-urlencoded":
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return f, bad("can't parse the form: %v", err)
		}
		return f, f.values(values)
	}
	return f, bad("unsupported Content-Type %s", kind)
}

// whole reads a body to its end, also where it keeps only the beginning: net/http
// leaves a connection lingering when it is not.
func whole(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxBody))
	if err != nil {
		return nil, err
	}
	if n, err := io.Copy(io.Discard, r); n > 0 || err != nil {
		return nil, fmt.Errorf("more than %d bytes", maxBody)
	}
	return body, nil
}

func (f form) set(name, text string) *refusal {
	if _, twice := f.texts[name]; twice {
		return bad("parameter %q is there twice", name)
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return bad("strings must be encoded in UTF-8")
	}
	f.texts[name] = text
	return nil
}

func (f form) values(v url.Values) *refusal {
	for name, texts := range v {
		for _, text := range texts {
			if ref := f.set(name, text); ref != nil {
				return ref
			}
		}
	}
	return nil
}

func (f form) multipart(body []byte, boundary string) *refusal {
	for m := multipart.NewReader(bytes.NewReader(body), boundary); ; {
		p, err := m.NextRawPart()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return bad("can't parse the form: %v", err)
		}
		data, err := io.ReadAll(p)
		if err != nil {
			return bad("can't parse the form: %v", err)
		}
		if p.FileName() != "" {
			f.files[p.FormName()] = upload{p.FileName(), data}
			continue
		}
		if ref := f.set(p.FormName(), string(data)); ref != nil {
			return ref
		}
	}
}

func (f form) json(body []byte) *refusal {
	if !utf8.Valid(body) {
		return bad("strings must be encoded in UTF-8")
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return bad("can't parse the JSON object: %v", err)
	}
	for name, raw := range object {
		text := string(raw)
		if text == "null" {
			continue
		}
		if raw[0] == '"' {
			if err := json.Unmarshal(raw, &text); err != nil {
				return bad("can't parse parameter %q: %v", name, err)
			}
		}
		if ref := f.set(name, text); ref != nil {
			return ref
		}
	}
	return nil
}

// unknown are the parameters that the method with parameters of type t has not.
func (f form) unknown(t reflect.Type) []string {
	var names []string
	for name := range f.texts {
		if _, ok := field(t, name); !ok {
			names = append(names, name)
		}
	}
	for name := range f.files {
		if _, ok := field(t, name); !ok && !f.attached(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// attached says whether a parameter refers to an uploaded part by its name.
func (f form) attached(name string) bool {
	for _, text := range f.texts {
		if strings.Contains(text, "attach://"+name) {
			return true
		}
	}
	return false
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
			continue // refused before, if at all
		}
		raw := []byte(text)
		if sf.Type.Kind() == reflect.String || sf.Type == anyType && !number(text) {
			raw = encode(text)
		}
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		d.UseNumber()
		if err := d.Decode(v.FieldByIndex(sf.Index).Addr().Interface()); err != nil {
			return bad("can't parse parameter %q: %v", name, err)
		}
		if _, err := d.Token(); err != io.EOF {
			return bad("can't parse parameter %q: more than one value", name)
		}
	}
	return nil
}

// anyType is the type of a chat_id: a number or a @username. A reply_markup has
// another type, though it is an any as well, and is JSON.
var anyType = reflect.TypeFor[any]()

func number(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}
