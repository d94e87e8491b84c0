package main

import (
	"fmt"
	"os"

	"lethe/cmd/lethe/demo"
)

func (p *program) demoCommand(c call) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	return demo.Run(c, exe, p.out, c.is("fast"))
}
