package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Decode fills the struct that dst points to from the arguments of a call. Its
// fields are strings, integers and json.RawMessage for objects, with a json tag; ",omitempty" marks what may be
// left out, and the tag "about" describes the argument to the model, if its name does not.
//
// It is strict about what an argument means and kind about how it is written: an
// unknown or missing argument and a wrong type are errors that name what is
// expected, but null is the same as leaving out, and names match in any case.
func Decode(args json.RawMessage, dst any) error {
	given, err := object(args)
	if err != nil {
		return err
	}
	v := reflect.ValueOf(dst).Elem()
	var all, wrong []string
	for i := range v.NumField() {
		name, option, kind := argument(v.Type().Field(i))
		raw, ok := given[name]
		delete(given, name)
		switch {
		case !ok && option == "":
			wrong = append(wrong, fmt.Sprintf("missing argument %q", name))
		case ok && json.Unmarshal(raw, v.Field(i).Addr().Interface()) != nil:
			wrong = append(wrong, fmt.Sprintf("argument %q must be of type %s, not %s", name, kind, quote(string(raw))))
		}
		if option != "" {
			name += " (optional)"
		}
		if v.Type().Field(i).Tag.Get("about") != "-" {
			all = append(all, name)
		}
	}
	if unknown := slices.Sorted(maps.Keys(given)); len(unknown) > 0 {
		wrong = []string{"unknown argument " + quote(unknown[0])}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s: the arguments are %s", wrong[0], cmp.Or(strings.Join(all, ", "), "none"))
	}
	return nil
}

func argument(f reflect.StructField) (name, option, kind string) {
	name, option, _ = strings.Cut(f.Tag.Get("json"), ",")
	switch f.Type.Kind() {
	case reflect.String:
		return name, option, "string"
	case reflect.Slice: // json.RawMessage
		return name, option, "object"
	}
	return name, option, "integer"
}

// schemaOf is the JSON Schema of the struct that Decode fills. That other arguments
// are refused is left to Decode, which says it when it matters.
func schemaOf(args reflect.Type) json.RawMessage {
	var properties, required []string
	for i := range args.NumField() {
		name, option, kind := argument(args.Field(i))
		about := args.Field(i).Tag.Get("about")
		if about == "-" { // the daemon's own
			continue
		}
		if about != "" {
			about = `,"description":"` + about + `"`
		}
		properties = append(properties, fmt.Sprintf(`"%s":{"type":"%s"%s}`, name, kind, about))
		if option == "" {
			required = append(required, `"`+name+`"`)
		}
	}
	schema := `{"type":"object","properties":{` + strings.Join(properties, ",") + `}`
	if len(required) > 0 {
		schema += `,"required":[` + strings.Join(required, ",") + `]`
	}
	return json.RawMessage(schema + "}")
}

// object reads a JSON object without its nulls. Its names are in lower case; of those
// that differ in case only, the one in lower case counts, or the first in order (as
// in mind.Call.Say).
func object(args json.RawMessage) (map[string]json.RawMessage, error) {
	var given map[string]json.RawMessage
	if args = bytes.TrimSpace(args); len(args) > 0 && json.Unmarshal(args, &given) != nil {
		return nil, fmt.Errorf("the arguments must be one JSON object, not %s", quote(string(args)))
	}
	lower := map[string]json.RawMessage{}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(given))) {
		key := strings.ToLower(name)
		if _, exact := given[key]; !exact || name == key {
			lower[key] = given[name]
		}
	}
	maps.DeleteFunc(lower, func(_ string, raw json.RawMessage) bool { return string(raw) == "null" })
	return lower, nil
}

// Folded returns the arguments of a call as its tool reads them: names in lower case, without nulls. It returns args as
// they are if they are not a JSON object with arguments.
func Folded(args json.RawMessage) json.RawMessage {
	if given, _ := object(args); len(given) > 0 {
		args, _ = json.Marshal(given) // it was read as JSON
	}
	return args
}

// integer is an argument that models write as 5, 5.0 or "5"; of a switch also as true or false.
type integer int64

func (n *integer) UnmarshalJSON(raw []byte) error {
	s := strings.Trim(string(raw), `" `)
	switch s {
	case "true":
		s = "1"
	case "false":
		s = "0"
	}
	exact, err := strconv.ParseInt(s, 10, 64)
	if err == nil {
		*n = integer(exact)
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	isExact := math.Abs(f) <= 1<<53 // a larger float stands for several integers
	isInteger := f == math.Trunc(f) && isExact
	if err != nil || !isInteger {
		return errors.New("not an integer")
	}
	*n = integer(f)
	return nil
}

// loose is a text that models also write as a list of texts, which is one a line then, as a number or an object.
type loose string

func (l *loose) UnmarshalJSON(raw []byte) error {
	var s string
	var items []string
	switch {
	case json.Unmarshal(raw, &s) == nil:
	case json.Unmarshal(raw, &items) == nil:
		s = strings.Join(items, "\n")
	default:
		s = string(raw)
	}
	*l = loose(s)
	return nil
}

// quote shows a text of the model in a message: quoted, in one line, bounded.
func quote(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strconv.Quote(s)
}

// nearest is the index of the candidate that is most like name, whatever its case; the first of equals.
func nearest(name string, candidates []string) int {
	like := make([]int, len(candidates))
	for i, c := range candidates {
		like[i] = Alike(strings.ToLower(name), strings.ToLower(c))
	}
	return slices.Index(like, slices.Max(like))
}

// Alike counts the bytes in which two words agree at the beginning and at the end, less half the rest of the longer
// one. It is high for a word and the same word with a slip in it.
func Alike(a, b string) (n int) {
	if len(a) > len(b) {
		a, b = b, a
	}
	for n < len(a) && a[n] == b[n] {
		n++
	}
	for a, b = a[n:], b[n:]; a != "" && a[len(a)-1] == b[len(b)-1]; n++ {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return n - len(b)/2
}

// clip cuts s to n bytes, at the border of a rune.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for most := 3; most > 0 && n > 0; most-- {
		if utf8.RuneStart(s[n]) {
			break
		}
		n--
	}
	return s[:n]
}
