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
	value := reflect.New(kind).Elem()
	if err := (&reader{line: line}).fields(value); err != nil {
		return nil, err
	}
	return value.Interface().(Event), nil
}

// As reads the event of a line as type E. It returns false for a line of another
// kind, and for a line that Parse refuses.
func As[E Event](line life.Event) (e E, ok bool) {
	if line.Kind == kind(reflect.TypeFor[E]()) {
		parsed, _ := Parse(line)
		e, ok = parsed.(E)
	}
	return e, ok
}

// tag is the parsed tag of a field.
type tag struct {
	arg   string // the form of an argument
	key   string
	value string // the value that stands for a true bool
	must  bool   // Parse refuses a line without the key
	opt   bool   // a zero value is not written
}

// omitted reports whether a line leaves out the field if its value is zero.
func (t tag) omitted(field reflect.Value) bool {
	isFlag := t.value != ""
	if t.opt || isFlag {
		return true
	}
	return field.Kind() == reflect.Pointer
}

func tagOf(field reflect.StructField) tag {
	key, option, _ := strings.Cut(field.Tag.Get("life"), ",")
	key, value, _ := strings.Cut(key, "=")
	return tag{field.Tag.Get("arg"), key, value, option == "must", option == "opt"}
}

// write adds the arguments and fields of e to its line.
func write(line *life.Event, e any) {
	value := reflect.ValueOf(e)
	for at := range value.NumField() {
		field, form := value.Field(at), tagOf(value.Type().Field(at))
		add := func(value string) { line.Fields = append(line.Fields, life.Field{Key: form.key, Value: value}) }
		switch {
		case form.arg == "eN":
			line.Args = append(line.Args, fmt.Sprintf("e%d", field.Int()))
		case form.arg != "":
			line.Args = append(line.Args, text(field))
		case field.IsZero() && form.omitted(field):
		case field.Kind() == reflect.Pointer:
			write(line, field.Elem().Interface())
		case form.key == "":
			write(line, field.Interface())
		case form.value != "":
			add(form.value)
		case isList(field):
			for item := range field.Len() {
				add(text(field.Index(item)))
			}
		default:
			add(text(field))
		}
	}
}

// isList reports whether each value of a field has its own key=value.
func isList(f reflect.Value) bool {
	return f.Kind() == reflect.Slice && f.Type() != reflect.TypeFor[Hashes]()
}

// text renders a value.
func text(value reflect.Value) string {
	switch typed := value.Interface().(type) {
	case time.Time:
		return typed.UTC().Format(time.RFC3339)
	case fmt.Stringer:
		return typed.String()
	case float64:
		return strconv.FormatFloat(typed, 'f', 6, 64)
	default:
		return fmt.Sprint(typed) // string, int, int64, uint64
	}
}

// reader reads the fields of a struct from a line.
type reader struct {
	line life.Event
	args int // arguments that were read
}

func (r *reader) fields(value reflect.Value) error {
	for at := range value.NumField() {
		field, form := value.Field(at), tagOf(value.Type().Field(at))
		if err := r.field(field, form); err != nil {
			if form.key != "" {
				return fmt.Errorf("%s: %w", form.key, err)
			}
			return err
		}
	}
	return nil
}

func (r *reader) field(field reflect.Value, form tag) error {
	values := r.line.All(form.key)
	switch {
	case form.arg != "":
		arg := r.line.Arg(r.args)
		r.args++
		if form.arg == "eN" {
			return entryNumber(field, arg)
		}
		return parse(field, arg)
	case field.Kind() == reflect.Pointer:
		return r.group(field)
	case form.key == "":
		return r.fields(field)
	case len(values) == 0 && form.must:
		return errors.New("missing")
	case len(values) == 0:
		return nil
	case form.value != "":
		field.SetBool(values[0] == form.value)
		return nil
	case isList(field):
		field.Set(reflect.MakeSlice(field.Type(), len(values), len(values)))
		for item, value := range values {
			if err := parse(field.Index(item), value); err != nil {
				return err
			}
		}
		return nil
	}
	return parse(field, values[0])
}

// entryNumber reads e1, e2, …
func entryNumber(field reflect.Value, arg string) error {
	digits, ok := strings.CutPrefix(arg, "e")
	if ok && parse(field, digits) == nil {
		canonical := fmt.Sprint(field.Int()) == digits
		if canonical && field.Int() >= 1 {
			return nil
		}
	}
	return fmt.Errorf("%q is not the number of an entry", arg)
}

// group reads a part of an event. It leaves the part nil if the line lacks a key that the part must have.
func (r *reader) group(field reflect.Value) error {
	part := reflect.New(field.Type().Elem())
	for at := range part.Elem().NumField() {
		if form := tagOf(part.Elem().Type().Field(at)); form.must && r.line.Get(form.key) == "" {
			return nil
		}
	}
	field.Set(part)
	return r.fields(part.Elem())
}

// parse reads a value from the text that the function text wrote.
func parse(field reflect.Value, text string) error {
	var err error
	switch typed := field.Addr().Interface().(type) {
	case *time.Time:
		*typed, err = time.Parse(time.RFC3339, text)
	case interface{ parse(string) error }:
		err = typed.parse(text)
	case *string:
		*typed = text
	case *uint64:
		*typed, err = strconv.ParseUint(text, 10, 64)
	case *int64:
		*typed, err = strconv.ParseInt(text, 10, 64)
	case *int:
		*typed, err = strconv.Atoi(text)
	case *float64:
		*typed, err = strconv.ParseFloat(text, 64)
		if math.IsNaN(*typed) || math.IsInf(*typed, 0) {
			err = strconv.ErrSyntax
		}
	default:
		err = fmt.Errorf("no form for %T", typed)
	}
	if _, ok := errors.AsType[*strconv.NumError](err); ok || err == strconv.ErrSyntax {
		return fmt.Errorf("%q is not a number", text)
	}
	return err
}
