//go:build !unix

package tools

import (
	"context"
	"errors"
	"io"
)

// MaybeSandbox does nothing here: there is no helper on this system.
func MaybeSandbox() {}

// HideEnvironment does nothing here.
func HideEnvironment() {}

// CanConfine says why BASH refuses commands here.
func CanConfine() error {
	return errors.New("commands cannot be run on this system; the file tools work")
}

func runCommand(context.Context, string, order, io.Writer) (outcome, error) {
	return outcome{Failed: CanConfine().Error()}, nil
}
