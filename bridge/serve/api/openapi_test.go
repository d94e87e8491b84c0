package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"lethe/agent/budget"
	"lethe/blobs"
	"lethe/bridge/serve/backend"
	"lethe/internal/test/lethetest"
	"lethe/mind/message"
)

var update = flag.Bool("update", false, "write openapi.json anew")

// openapi.json describes the routes as their types do, a line for each value: blanks would be in the program. go test -run
// Description -update writes it anew.
func TestDescription(t *testing.T) {
	want, err := json.MarshalIndent(describe(routes()), "", "")
	lethetest.Must(t, err)
	want = regexp.MustCompile(`(?m)^("[^"]*"): `).ReplaceAll(want, []byte("$1:"))
	if *update {
		lethetest.Must(t, os.WriteFile("openapi.json", append(want, '\n'), 0o644))
	} else if !bytes.Equal(bytes.TrimSpace(description), want) {
		t.Error("openapi.json does not describe the routes: go test ./bridge/serve/api -run Description -update")
	}
}

type object = map[string]any

// named describes the names in paths.
var named = map[string]string{
	"self":     "The name of an identity, its hash, or the beginning of the hash.",
	"room":     "The name of a room.",
	"hash":     "The hash of a stored text or file: 64 hex digits, or at least the first 3.",
	"question": "The id of an open question, like q3fa9c1.",
	"trigger":  "The name of the trigger.",
	"job":      "The number of the job.",
}

func describe(all []route) object {
	d := schemas{schemas: object{}, types: map[string]reflect.Type{}}
	paths := map[string]object{}
	for _, t := range all {
		if paths[t.path] == nil {
			paths[t.path] = object{}
		}
		paths[t.path][strings.ToLower(t.method)] = d.operation(t)
	}
	inPath := object{}
	for name, about := range named {
		inPath[name] = object{"name": name, "in": "path", "required": true, "description": about, "schema": object{"type": "string"}}
	}
	failed := object{
		"description": "What went wrong, and what to do.",
		"content":     d.content(jsonMedia, reflect.TypeFor[backend.ErrorBody]()),
	}
	const about = "What there is to see and do in a home. docs/api.md tells how to use it."
	token := object{"type": "http", "scheme": "bearer", "description": "What bridges/serve/token holds."}
	cookie := object{
		"type": "apiKey", "in": "cookie", "name": "lethe", "description": "Of a browser that a login link let in.",
	}
	return object{
		"openapi":  "3.1.0",
		"info":     object{"title": "Lethe", "version": "1", "description": about},
		"security": []object{{"token": []string{}}, {"cookie": []string{}}},
		"paths":    paths,
		"components": object{
			"schemas":         d.schemas,
			"parameters":      inPath,
			"responses":       object{"Error": failed},
			"securitySchemes": object{"token": token, "cookie": cookie},
		},
	}
}

// schemas collects those of types by their names.
type schemas struct {
	schemas object
	types   map[string]reflect.Type
}

func (d schemas) operation(t route) object {
	id := strings.ToLower(t.method)
	params := []object{}
	for _, part := range strings.Split(strings.TrimPrefix(t.path, "/api/"), "/") {
		name := strings.Trim(part, "{}")
		id += strings.ToUpper(name[:1]) + name[1:]
		if name != part {
			params = append(params, object{"$ref": "#/components/parameters/" + name})
		}
	}
	for _, p := range paramsOf(t.params) {
		params = append(params, p.describe())
	}
	op := object{
		"operationId": id, "summary": t.does, "parameters": params,
		"responses": object{
			strconv.Itoa(t.status): object{"description": "Done.", "content": d.content(t.media, t.answer)},
			"default":              object{"$ref": "#/components/responses/Error"},
		},
	}
	if t.body != nil {
		op["requestBody"] = object{"required": t.bodyMedia != jsonMedia, "content": d.content(t.bodyMedia, t.body)}
	}
	return op
}

func (d schemas) content(media string, of reflect.Type) object {
	return object{media: object{"schema": d.schema(of)}}
}

func (p param) describe() object {
	schema := object{"type": "string"}
	if p.field.Type.Kind() != reflect.String {
		schema = object{"type": "integer", "minimum": p.least, "maximum": p.most, "default": json.RawMessage(p.initial)}
	}
	about := p.field.Tag.Get("about")
	all := object{"name": p.name, "in": p.in, "description": about, "schema": schema}
	if p.required {
		all["required"] = true
	}
	return all
}

// known are the schemas of types that say themselves how they are written.
var known = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
	reflect.TypeFor[blobs.Hash]():      {Type: "string", Pattern: "^([0-9a-f]{64})?$"},
	reflect.TypeFor[budget.USD]():      {Type: "number"},
	reflect.TypeFor[message.Content](): {Type: "string"},
	reflect.TypeFor[json.RawMessage](): {},
}

// schema returns a reference to the schema of a type, which it adds. A value may have members
// that are not described: later versions add some.
func (d schemas) schema(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[string]():
		return object{"type": "string"}
	case reflect.TypeFor[[]byte]():
		return object{} // bytes of any kind
	case reflect.TypeFor[form]():
		file := object{"type": "string", "contentMediaType": "application/octet-stream"}
		return object{"type": "object", "additionalProperties": file}
	}
	name := t.Name()
	if _, of, ok := strings.Cut(strings.TrimSuffix(name, "]"), "["); ok { // of a List
		name = of[strings.LastIndexByte(of, '.')+1:] + "List"
	}
	if d.types[name] == nil {
		s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known})
		if err != nil {
			panic(fmt.Sprintf("describe %s: %v", t, err))
		}
		loosen(s)
		d.types[name], d.schemas[name] = t, s
	}
	if d.types[name] != t {
		panic(fmt.Sprintf("%s and %s have one name", t, d.types[name]))
	}
	return object{"$ref": "#/components/schemas/" + name}
}

func loosen(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Properties != nil {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		loosen(p)
	}
	loosen(s.Items)
	loosen(s.AdditionalProperties)
}
