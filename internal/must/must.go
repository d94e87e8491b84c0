// Package must is for what goes through many steps and can do without none: the first that fails ends Run.
package must

// failed is why a step did not happen.
type failed struct{ error }

// Do ends Run if there is an error.
func Do(err error) {
	if err != nil {
		panic(failed{err})
	}
}

// Get is Do for what returns something.
func Get[T any](v T, err error) T {
	Do(err)
	return v
}

// Run does the steps, and returns the error that ended them.
func Run(steps func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failed:
			err = p.error
		default:
			panic(p)
		}
	}()
	steps()
	return nil
}
