package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lethe/config"
)

// once is a flag that may be given once: of two values, one would be ignored.
type once struct {
	pflag.Value
	set bool
}

func (o *once) Set(s string) error {
	if o.set {
		return errTwice
	}
	o.set = true
	return o.Value.Set(s)
}

var errTwice = errors.New("given twice")

// setOnce makes flags of a command and those below it refuse a second value,
// unless they are lists.
func setOnce(cmd *cobra.Command) {
	wrap := func(f *pflag.Flag) {
		if f.DefValue == "0s" {
			f.DefValue = "" // the help would show it as a default
		}
		if _, done := f.Value.(*once); !done && f.Value.Type() != "bool" && f.Value.Type() != "stringArray" {
			f.Value = &once{Value: f.Value}
		}
	}
	cmd.Flags().VisitAll(wrap)
	cmd.PersistentFlags().VisitAll(wrap)
	for _, c := range cmd.Commands() {
		setOnce(c)
	}
}

// wants says what a flag of a type takes.
var wants = map[string]string{
	"int": "a whole number", "uint64": "a whole number, 0 or more", "float64": "a number",
	"duration": "a duration such as 90s or 5m", "bool": "true or false",
}

// flagError says in plain words what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var missing *pflag.NotExistError
	switch {
	case errors.Is(err, errTwice) && errors.As(err, &value):
		return usagef("--%s is given twice", value.GetFlag().Name)
	case errors.As(err, &value):
		return usagef("--%s is %q; it is %s", value.GetFlag().Name, value.GetValue(), wants[value.GetFlag().Value.Type()])
	case errors.As(err, &missing):
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := config.Nearest(missing.GetSpecifiedName(), names); near != "" {
			return hint(usageError{err}, "did you mean: --%s", near)
		}
		return hint(usageError{err}, "%s --help lists the flags", cmd.CommandPath())
	}
	return usageError{err}
}
