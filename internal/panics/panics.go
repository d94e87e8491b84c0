// Package panics makes a panic an error, and puts its stack into the log.
package panics

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Recover is to be deferred.
func Recover(log *slog.Logger, err *error) {
	if p := recover(); p != nil {
		log.Error("panic", "value", p, "stack", string(debug.Stack()))
		*err = fmt.Errorf("panic: %v", p)
	}
}
