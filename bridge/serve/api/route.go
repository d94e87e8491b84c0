package api

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"lethe/agent/home"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
)

// route is one resource with one method. The Go types of its parameters, body and answer also
// describe it at /api/openapi.json.
type route struct {
	method, path string
	does         string // one sentence
	params       reflect.Type
	body         reflect.Type // nil: it has no body
	bodyMedia    string
	status       int // of success
	answer       reflect.Type
	media        string
	serve        func(s server, w http.ResponseWriter, r *http.Request) error
	forPeople    bool // it answers what a person may read

	answers func(s server, r *http.Request, read reader) (any, error) // instead of serve: in JSON
}

// shared makes a route serve the tokens of people, too.
func shared(made route) route {
	made.forPeople = true
	return made
}

const jsonMedia = "application/json"

// call is a request to a route.
type call[P, B any] struct {
	*http.Request
	id     home.Identity // that {self} in the path names
	params P
	body   B
}

// none stands for the parameters, or the body, of a route without them.
type none struct{}

// get makes a route that answers an A to its parameters.
func get[P, A any](path, does string, f func(s server, c call[P, none]) (A, error)) route {
	return send("GET", path, http.StatusOK, does, f)
}

// send makes a route that takes a B as JSON and answers an A with this status.
func send[P, B, A any](method, path string, status int, does string, f func(s server, c call[P, B]) (A, error)) route {
	body := reflect.TypeFor[B]()
	if body == reflect.TypeFor[none]() {
		body = nil
	}
	return route{
		method: method, path: path, does: does, status: status, params: reflect.TypeFor[P](),
		body: body, bodyMedia: jsonMedia, answer: reflect.TypeFor[A](), media: jsonMedia,
		answers: func(s server, r *http.Request, read reader) (any, error) {
			c := call[P, B]{Request: r}
			var err error
			if c.id, err = read(&c.params, &c.body); err != nil {
				return nil, err
			}
			return f(s, c)
		},
	}
}

// reader reads the parameters and the body of a request, and returns the identity that its path names.
type reader func(params, body any) (home.Identity, error)

// inJSON serves a route that answers in JSON. It stands outside of send, which is compiled for each type.
func (t route) inJSON(s server, w http.ResponseWriter, r *http.Request) error {
	answer, err := t.answers(s, r, func(params, body any) (home.Identity, error) {
		id, err := s.asked(r, t.path, reflect.ValueOf(params).Elem())
		if err == nil && t.body != nil {
			err = backend.Read(w, r, body)
		}
		return id, err
	})
	if err == nil {
		backend.WriteJSON(w, t.status, answer)
	}
	return err
}

// raw makes a route that writes its answer, of this media type, by itself.
func raw[P, A any](method, path, does, media string,
	f func(s server, w http.ResponseWriter, c call[P, none]) error) route {
	serve := func(s server, w http.ResponseWriter, r *http.Request) (err error) {
		c := call[P, none]{Request: r}
		if c.id, err = s.asked(r, path, reflect.ValueOf(&c.params).Elem()); err != nil {
			return err
		}
		return f(s, w, c)
	}
	return route{
		method: method, path: path, does: does, status: http.StatusOK, params: reflect.TypeFor[P](),
		answer: reflect.TypeFor[A](), media: media, serve: serve,
	}
}

// asked reads the parameters of a request, and returns the identity that its path names.
func (s server) asked(r *http.Request, path string, params reflect.Value) (id home.Identity, err error) {
	if err = parse(r, params); err == nil && strings.Contains(path, "{self}") {
		id, err = s.identity(r)
	}
	return id, err
}

// param is a field of a struct of parameters.
type param struct {
	field             reflect.StructField
	name, in, initial string // in: "query" or "header"
	least, most       int64  // of a number
	required          bool
}

func paramsOf(t reflect.Type) (list []param) {
	for _, field := range reflect.VisibleFields(t) {
		if field.Anonymous {
			continue
		}
		tag := field.Tag.Get
		one := param{field: field, name: tag("name"), initial: tag("default"), most: 1 << 53}
		one.in, one.required = cmp.Or(tag("in"), "query"), tag("required") != ""
		one.least, _ = strconv.ParseInt(tag("min"), 10, 64)
		if most, err := strconv.ParseInt(tag("max"), 10, 64); err == nil {
			one.most = most
		}
		list = append(list, one)
	}
	return list
}

// parse sets a struct of parameters from a request. It refuses parameters that the route does not
// know: a name that is spelled wrongly would otherwise be a filter that does nothing.
func parse(r *http.Request, to reflect.Value) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return report.Invalid("the query of the address cannot be read: %v", err)
	}
	for _, one := range paramsOf(to.Type()) {
		text := r.Header.Get(one.name)
		if one.in == "query" {
			if n := len(query[one.name]); n > 1 {
				return report.Invalid("%s is given %d times", one.name, n)
			}
			text = query.Get(one.name)
			delete(query, one.name)
		}
		if text == "" && one.required {
			return report.Invalid("%s is missing", one.name)
		}
		if err := one.set(to.FieldByIndex(one.field.Index), cmp.Or(text, one.initial)); err != nil {
			return err
		}
	}
	for name := range query {
		return report.Invalid("%q is no parameter of this resource; /api/openapi.json lists them", name)
	}
	return nil
}

func (p param) set(to reflect.Value, text string) error {
	switch to.Kind() {
	case reflect.String:
		to.SetString(text)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		inside := n >= p.least && n <= p.most
		if err != nil || !inside {
			return report.Invalid("%s is %q; it is a number from %d to %d", p.name, text, p.least, p.most)
		}
		to.SetInt(n)
	default:
		panic(fmt.Sprintf("parameter %s is a %s", p.name, to.Type()))
	}
	return nil
}
