//go:build !linux

package durable

import "errors"

// exchange is not to be had everywhere.
func exchange(_, _ string) error { return errors.ErrUnsupported }
