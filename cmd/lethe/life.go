package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/life"
)

func (p *program) lifeCommand() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:   "life [NAME]",
		Short: "Print the log of an identity",
		Args:  args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, list []string) error {
			id, err := p.find(first(list))
			if err != nil {
				return err
			}
			return p.printLife(cmd.Context(), id, follow)
		},
		ValidArgsFunction: firstOnly(p.completeIdentities),
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on printing as it happens")
	return cmd
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// printLife prints the lines of a log, checked, and follows it when asked.
func (p *program) printLife(ctx context.Context, id agent.Identity, follow bool) error {
	f, _, err := durable.OpenRegular(id.LIFE(), os.O_RDONLY, 0)
	if err != nil {
		return id.Unread(err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	watcher := chat.NewWatcher(500*time.Millisecond, nil)
	changed, cancel := watcher.Subscribe(chat.Scope{Dir: id.Dir, Names: []string{"LIFE.md"}})
	defer cancel()
	if follow {
		go func() { _ = watcher.Run(ctx) }() // ends with the process
	}
	var partial string
	for {
		line, err := life.ReadLine(r)
		partial += line
		if errors.Is(err, life.ErrLongLine) {
			return fmt.Errorf("%w: read %s: %w", agent.ErrCorrupt, f.Name(), err)
		}
		if err == nil {
			if err := p.printEvent(partial); err != nil {
				return err
			}
			partial = ""
			continue
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		if !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

func (p *program) printEvent(line string) error {
	line = strings.TrimSuffix(line, "\n")
	if !p.json {
		_, err := fmt.Fprintln(p.out, chat.Sanitize(line))
		return err
	}
	e, err := life.ParseLine(line)
	if err != nil {
		return err
	}
	return json.NewEncoder(p.out).Encode(eventOf(e))
}
