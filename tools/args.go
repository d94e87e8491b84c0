package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Decode fills the struct that dst points to from the arguments of a call. Its
// fields are strings, bools and int64s with a json tag; ",omitempty" marks what
// may be left out.
//
// It is strict about what an argument means and kind about how it is written: an
// unknown or missing argument and a wrong type are errors that name what is
// expected, but "5" and 5.0 are the integer 5, null is the same as leaving out,
// and names match in any case.
func Decode(args json.RawMessage, dst any) error {
	given, err := object(args)
	if err != nil {
		return err
	}
	v := reflect.ValueOf(dst).Elem()
	var names []string
	for i := range v.NumField() {
		name, optional := argument(v.Type().Field(i))
		if optional {
			name += " (optional)"
		}
		names = append(names, name)
	}
	all := cmp.Or(strings.Join(names, ", "), "none")
	for i := range v.NumField() {
		name, optional := argument(v.Type().Field(i))
		raw, ok := given[name]
		delete(given, name)
		if !ok || string(raw) == "null" {
			if !optional {
				err = cmp.Or(err, fmt.Errorf("missing argument %q: the arguments are %s", name, all))
			}
		} else if serr := set(v.Field(i), raw); serr != nil {
			err = cmp.Or(err, fmt.Errorf("argument %q must be %w", name, serr))
		}
	}
	if unknown := slices.Sorted(maps.Keys(given)); len(unknown) > 0 {
		return fmt.Errorf("unknown argument %s: the arguments are %s", quote(unknown[0]), all)
	}
	return err
}

func argument(f reflect.StructField) (name string, optional bool) {
	name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name, opts == "omitempty"
}

// object reads a JSON object. Its names are in lower case; of those that differ in
// case only, the one in lower case counts, or the first in order (as in mind.Call.Say).
func object(args json.RawMessage) (map[string]json.RawMessage, error) {
	args = bytes.TrimSpace(args)
	if len(args) == 0 {
		return nil, nil
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(args, &given); err != nil {
		if !json.Valid(args) {
			return nil, fmt.Errorf("arguments are not JSON (%w): send one JSON object", err)
		}
		return nil, fmt.Errorf("arguments must be a JSON object, not %s", kind(args))
	}
	lower := map[string]json.RawMessage{}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(given))) {
		key := strings.ToLower(name)
		if _, exact := given[key]; !exact || name == key {
			lower[key] = bytes.TrimSpace(given[name])
		}
	}
	return lower, nil
}

// set stores raw in v. Its error ends the sentence "argument x must be …".
func set(v reflect.Value, raw json.RawMessage) error {
	switch v.Kind() {
	case reflect.String:
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return fmt.Errorf("a string, not %s", kind(raw))
		}
		v.SetString(s)
	case reflect.Bool:
		b, err := strconv.ParseBool(strings.ToLower(unquoted(raw)))
		if err != nil {
			return fmt.Errorf("true or false, not %s", kind(raw))
		}
		v.SetBool(b)
	case reflect.Int64:
		n, ok := integer(unquoted(raw))
		if !ok {
			return fmt.Errorf("an integer, not %s", kind(raw))
		}
		v.SetInt(n)
	default:
		panic("tools.Decode: field of kind " + v.Kind().String())
	}
	return nil
}

// unquoted is the text of a JSON value, without the quotes if it is a string.
func unquoted(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	return strings.TrimSpace(s)
}

func integer(s string) (int64, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	// 5.0 and 1e3 are integers too. Beyond 2^53 a float no longer says which.
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// kind describes a JSON value in a few words.
func kind(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "the string " + quote(unquoted(raw))
	case 'n':
		return "null"
	}
	return quote(string(raw))
}

// quote shows a text of the model in a message: quoted, in one line, bounded.
func quote(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strconv.Quote(s)
}
