package api

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"

	"lethe/agent"
	"lethe/bridge/serve/backend"
	"lethe/report"
)

// route is one resource with one method. The Go types of what it takes and answers are what
// describes it at /api/openapi.json, too.
type route struct {
	method, path string
	does         string // one sentence
	params       reflect.Type
	body         reflect.Type // nil: none
	bodyMedia    string
	status       int // of success
	answer       reflect.Type
	media        string
	serve        func(w http.ResponseWriter, r *http.Request) error
}

const jsonMedia = "application/json"

// none is the parameters of a resource that has none.
type none struct{}

// get is a route that answers an A to its parameters.
func get[P, A any](path, does string, f func(r *http.Request, p P) (A, error)) route {
	return send("GET", path, http.StatusOK, does, func(r *http.Request, p P, _ none) (A, error) { return f(r, p) })
}

// send is a route that takes a B as JSON and answers an A with this status.
func send[P, B, A any](method, path string, status int, does string, f func(r *http.Request, p P, body B) (A, error)) route {
	route := raw[P, A](method, path, does, jsonMedia, func(w http.ResponseWriter, r *http.Request, p P) error {
		var body B
		if reflect.TypeFor[B]() != reflect.TypeFor[none]() {
			if err := backend.Read(w, r, &body); err != nil {
				return err
			}
		}
		a, err := f(r, p, body)
		if err == nil {
			backend.WriteJSON(w, status, a)
		}
		return err
	})
	if route.status = status; reflect.TypeFor[B]() != reflect.TypeFor[none]() {
		route.body, route.bodyMedia = reflect.TypeFor[B](), jsonMedia
	}
	return route
}

// raw is a route that writes its answer, of this media type, by itself.
func raw[P, A any](method, path, does, media string, f func(w http.ResponseWriter, r *http.Request, p P) error) route {
	return route{
		method: method, path: path, does: does, params: reflect.TypeFor[P](), status: http.StatusOK, answer: reflect.TypeFor[A](), media: media,
		serve: func(w http.ResponseWriter, r *http.Request) error {
			var p P
			if err := parse(r, reflect.ValueOf(&p).Elem()); err != nil {
				return err
			}
			return f(w, r, p)
		},
	}
}

// self is a function of the identity that the path names.
func self[P, A any](s server, f func(r *http.Request, id agent.Identity, p P) (A, error)) func(*http.Request, P) (A, error) {
	return func(r *http.Request, p P) (a A, err error) {
		id, err := s.Identity(r)
		if err != nil {
			return a, err
		}
		return f(r, id, p)
	}
}

// selfBody is self for what takes a body, too.
func selfBody[P, B, A any](s server, f func(r *http.Request, id agent.Identity, p P, body B) (A, error)) func(*http.Request, P, B) (A, error) {
	return func(r *http.Request, p P, body B) (A, error) {
		return self(s, func(r *http.Request, id agent.Identity, p P) (A, error) { return f(r, id, p, body) })(r, p)
	}
}

func (t route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := t.serve(w, r); err != nil {
		backend.WriteError(w, err)
	}
}

// param is a field of a struct of parameters.
type param struct {
	field             reflect.StructField
	name, in, initial string // in: "path", "query" or "header"
	least, most       int64  // of a number
	required          bool
}

func paramsOf(t reflect.Type) (list []param) {
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		p := param{field: f, name: f.Tag.Get("name"), in: f.Tag.Get("in"), initial: f.Tag.Get("default"), most: 1 << 53}
		p.in = cmp.Or(p.in, "query")
		p.required = p.in == "path" || f.Tag.Get("required") != ""
		p.least, _ = strconv.ParseInt(f.Tag.Get("min"), 10, 64)
		if most, err := strconv.ParseInt(f.Tag.Get("max"), 10, 64); err == nil {
			p.most = most
		}
		list = append(list, p)
	}
	return list
}

// parse sets a struct of parameters from a request. What the resource does not know is refused: a
// name that is spelled wrongly would otherwise be a filter that does nothing.
func parse(r *http.Request, to reflect.Value) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return report.Invalid("the query of the address cannot be read: %v", err)
	}
	for _, p := range paramsOf(to.Type()) {
		text := p.initial
		switch p.in {
		case "path":
			text = r.PathValue(p.name)
		case "header":
			text = r.Header.Get(p.name)
		case "query":
			if values := query[p.name]; len(values) > 1 {
				return report.Invalid("%s is given %d times", p.name, len(values))
			} else if len(values) == 1 && values[0] != "" {
				text = values[0]
			}
			delete(query, p.name)
		}
		if text == "" && p.required {
			return report.Invalid("%s is missing", p.name)
		}
		if err := p.set(to.FieldByIndex(p.field.Index), text); err != nil {
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
	case reflect.Bool:
		if text != "" && text != "true" && text != "false" {
			return report.Invalid("%s is %q; it is true or false", p.name, text)
		}
		to.SetBool(text == "true")
	case reflect.Int, reflect.Int64:
		if text == "" {
			return nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < p.least || n > p.most {
			return report.Invalid("%s is %q; it is a number from %d to %d", p.name, text, p.least, p.most)
		}
		to.SetInt(n)
	default:
		panic(fmt.Sprintf("parameter %s is a %s", p.name, to.Type()))
	}
	return nil
}
