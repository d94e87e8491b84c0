//go:build !amd64 && !arm64 && !riscv64 && !loong64

package sandbox

import "errors"

func canFilter() bool { return false }

func filterCalls(int) error { return nil }

func filterNetwork() error { return errors.New("this architecture has no filter that Lethe can use") }
