package main

import (
	"fmt"
	"time"
)

// topPace is how often lethe top looks.
const topPace = time.Second

func (p *program) agentsCommand(c call) error {
	p.refresh(c)
	return p.agents()
}

func (p *program) agents() error {
	all, err := p.look.Agents()
	return p.words("agents", all, err)
}

// topCommand prints the identities until the person leaves.
func (p *program) topCommand(c call) error {
	if p.json || !p.interactive() {
		return p.agentsCommand(c)
	}
	p.refresh(c)
	for {
		fmt.Fprint(p.out, "\x1b[H\x1b[J") // to the top of the screen, and clear it
		if err := p.agents(); err != nil {
			return err
		}
		select {
		case <-c.Done():
			return nil
		case <-time.After(topPace):
		}
	}
}
