package event

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"lethe/life"
)

// ErrUnknown is the error of Parse for a kind that has no type.
var ErrUnknown = errors.New("unknown event; a newer program wrote this life")

// Parse reads the event of a line.
func Parse(line life.Event) (Event, error) {
	kind, ok := kinds[line.Kind]
	if !ok {
		return nil, ErrUnknown
	}
	v := reflect.New(kind).Elem()
	if err := (&reader{line: line}).fields(v); err != nil {
		return nil, err
	}
	return v.Interface().(Event), nil
}

// As reads the event of a line that is of type E. It is false for a line of
// another kind, and for one that Parse refuses.
func As[E Event](line life.Event) (e E, ok bool) {
	if line.Kind == kind(reflect.TypeFor[E]()) {
		parsed, _ := Parse(line)
		e, ok = parsed.(E)
	}
	return e, ok
}

// tag is what the tag of a field says.
type tag struct {
	arg   string // the form of an argument
	key   string
	value string // what a bool has when it is true
	must  bool   // a line without the key is refused
	opt   bool   // not written when it is zero
}

func tagOf(f reflect.StructField) tag {
	key, option, _ := strings.Cut(f.Tag.Get("life"), ",")
	key, value, _ := strings.Cut(key, "=")
	return tag{f.Tag.Get("arg"), key, value, option == "must", option == "opt"}
}

// write adds the arguments and fields of e to its line.
func write(line *life.Event, e any) {
	v := reflect.ValueOf(e)
	for i := range v.NumField() {
		f, t := v.Field(i), tagOf(v.Type().Field(i))
		add := func(value string) { line.Fields = append(line.Fields, life.Field{Key: t.key, Value: value}) }
		switch {
		case t.arg == "eN":
			line.Args = append(line.Args, fmt.Sprintf("e%d", f.Int()))
		case t.arg != "":
			line.Args = append(line.Args, text(f))
		case f.IsZero() && (f.Kind() == reflect.Pointer || t.value != "" || t.opt):
		case f.Kind() == reflect.Pointer:
			write(line, f.Elem().Interface())
		case t.key == "":
			write(line, f.Interface())
		case t.value != "":
			add(t.value)
		case isList(f):
			for j := range f.Len() {
				add(text(f.Index(j)))
			}
		default:
			add(text(f))
		}
	}
}

// isList reports whether each value of a field has its own key=value.
func isList(f reflect.Value) bool {
	return f.Kind() == reflect.Slice && f.Type() != reflect.TypeFor[Hashes]()
}

// text renders a value.
func text(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Time:
		return x.UTC().Format(time.RFC3339)
	case fmt.Stringer:
		return x.String()
	case float64:
		return strconv.FormatFloat(x, 'f', 6, 64)
	default:
		return fmt.Sprint(x) // string, int, int64, uint64
	}
}

// reader reads the fields of a struct from a line.
type reader struct {
	line life.Event
	args int // that were read
}

func (r *reader) fields(v reflect.Value) error {
	for i := range v.NumField() {
		f, t := v.Field(i), tagOf(v.Type().Field(i))
		if err := r.field(f, t); err != nil {
			if t.key != "" {
				return fmt.Errorf("%s: %w", t.key, err)
			}
			return err
		}
	}
	return nil
}

func (r *reader) field(f reflect.Value, t tag) error {
	values := r.line.All(t.key)
	switch {
	case t.arg != "":
		arg := r.line.Arg(r.args)
		r.args++
		if t.arg == "eN" {
			digits, ok := strings.CutPrefix(arg, "e")
			if !ok || parse(f, digits) != nil || fmt.Sprint(f.Int()) != digits || f.Int() < 1 {
				return fmt.Errorf("%q is not the number of an entry", arg)
			}
			return nil
		}
		return parse(f, arg)
	case f.Kind() == reflect.Pointer:
		return r.group(f)
	case t.key == "":
		return r.fields(f)
	case len(values) == 0 && t.must:
		return errors.New("missing")
	case len(values) == 0:
		return nil
	case t.value != "":
		f.SetBool(values[0] == t.value)
		return nil
	case isList(f):
		f.Set(reflect.MakeSlice(f.Type(), len(values), len(values)))
		for j, value := range values {
			if err := parse(f.Index(j), value); err != nil {
				return err
			}
		}
		return nil
	}
	return parse(f, values[0])
}

// group reads a part of an event that is there when all its keys are that must be.
func (r *reader) group(f reflect.Value) error {
	part := reflect.New(f.Type().Elem())
	for i := range part.Elem().NumField() {
		if t := tagOf(part.Elem().Type().Field(i)); t.must && r.line.Get(t.key) == "" {
			return nil
		}
	}
	f.Set(part)
	return r.fields(part.Elem())
}

// parse reads what text wrote.
func parse(f reflect.Value, s string) error {
	var err error
	switch x := f.Addr().Interface().(type) {
	case *time.Time:
		*x, err = time.Parse(time.RFC3339, s)
	case interface{ parse(string) error }:
		err = x.parse(s)
	case *string:
		*x = s
	case *uint64:
		*x, err = strconv.ParseUint(s, 10, 64)
	case *int64:
		*x, err = strconv.ParseInt(s, 10, 64)
	case *int:
		*x, err = strconv.Atoi(s)
	case *float64:
		*x, err = strconv.ParseFloat(s, 64)
		if math.IsNaN(*x) || math.IsInf(*x, 0) {
			err = strconv.ErrSyntax
		}
	default:
		err = fmt.Errorf("no form for %T", x)
	}
	if _, ok := errors.AsType[*strconv.NumError](err); ok || err == strconv.ErrSyntax {
		return fmt.Errorf("%q is not a number", s)
	}
	return err
}
