//go:build !unix

package tools

import (
	"context"
	"io"
)

// MaybeSandbox does nothing here: there is no helper on this system.
func MaybeSandbox() {}

// HideEnvironment does nothing here.
func HideEnvironment() {}

func runCommand(context.Context, string, order, io.Writer) (outcome, error) {
	return outcome{Failed: "commands cannot be run on this system; the file tools work"}, nil
}
