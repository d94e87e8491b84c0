package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"lethe"
	"lethe/blobs"
	"lethe/bridge/serve/backend"
	"lethe/budget"
)

type object = map[string]any

func describe(all []route) object {
	d := description{schemas: object{}, types: map[string]reflect.Type{}}
	paths := map[string]object{}
	for _, t := range all {
		if paths[t.path] == nil {
			paths[t.path] = object{}
		}
		paths[t.path][strings.ToLower(t.method)] = d.operation(t)
	}
	return object{
		"openapi":  "3.1.0",
		"info":     object{"title": "Lethe", "version": lethe.Version, "description": "What there is to see and do in a home. docs/api.md tells how to use it."},
		"security": []object{{"token": []string{}}, {"cookie": []string{}}},
		"paths":    paths,
		"components": object{
			"schemas": d.schemas,
			"securitySchemes": object{
				"token":  object{"type": "http", "scheme": "bearer", "description": "What bridges/serve/token holds."},
				"cookie": object{"type": "apiKey", "in": "cookie", "name": "lethe", "description": "Of a browser that a login link let in."},
			},
		},
	}
}

// description collects the schemas of types by their names.
type description struct {
	schemas object
	types   map[string]reflect.Type
}

func (d description) operation(t route) object {
	id := strings.ToLower(t.method)
	for _, part := range strings.FieldsFunc(strings.TrimPrefix(t.path, "/api"), func(r rune) bool { return strings.ContainsRune("/{}", r) }) {
		id += strings.ToUpper(part[:1]) + part[1:]
	}
	params := []object{}
	for _, p := range paramsOf(t.params) {
		params = append(params, p.describe())
	}
	op := object{
		"operationId": id, "summary": t.does, "parameters": params,
		"responses": object{
			strconv.Itoa(t.status): object{"description": "Done.", "content": object{t.media: object{"schema": d.schema(t.answer, true)}}},
			"default":              object{"description": "What went wrong, and what to do.", "content": object{jsonMedia: object{"schema": d.schema(reflect.TypeFor[backend.ErrorBody](), true)}}},
		},
	}
	if t.body != nil {
		op["requestBody"] = object{"required": t.bodyMedia != jsonMedia, "content": object{t.bodyMedia: object{"schema": d.schema(t.body, false)}}}
	}
	return op
}

func (p param) describe() object {
	schema := object{"type": map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer"}[p.field.Type.Kind()]}
	if schema["type"] == "integer" {
		schema["minimum"], schema["maximum"] = p.least, p.most
	}
	if p.initial != "" {
		schema["default"] = json.RawMessage(p.initial) // only numbers have one
	}
	return object{"name": p.name, "in": p.in, "required": p.required, "description": p.field.Tag.Get("about"), "schema": schema}
}

// known are the schemas of types that say themselves how they are written.
var known = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
	reflect.TypeFor[blobs.Hash]():      {Type: "string", Pattern: "^([0-9a-f]{64})?$"},
	reflect.TypeFor[budget.USD]():      {Type: "number"},
	reflect.TypeFor[json.RawMessage](): {},
}

// schema returns a reference to the schema of a type, which it adds. An answer may have members
// that are not described: later versions add some.
func (d description) schema(t reflect.Type, answer bool) object {
	switch t {
	case reflect.TypeFor[string]():
		return object{"type": "string"}
	case reflect.TypeFor[[]byte]():
		return object{} // bytes of any kind
	case reflect.TypeFor[form]():
		return object{"type": "object", "additionalProperties": object{"type": "string", "contentMediaType": "application/octet-stream"}}
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
		if answer {
			loosen(s)
		}
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
