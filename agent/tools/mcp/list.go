package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lethe/agent/tools/catalogue"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/internal/pattern"
)

// What a server may say that it can do.
const (
	maxTools = 4000
	maxPages = 500
	maxTool  = 64 << 10 // bytes of a tool's description, and of its schema
	maxList  = 8 << 20  // bytes of the whole list

	listEvery = time.Second // a server that says all the time that its list has changed is asked no more often
)

var validTool = pattern.Lazy(`^[A-Za-z0-9_./-]{1,128}$`)

// listed returns what the server can do; until that is known, an item that says so.
func (s *server) listed() (items []catalogue.Item, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.items != nil {
		return s.items, true
	}
	const unknown = "a server that was not asked yet what it can do: TOOLS asks it"
	return []catalogue.Item{{Kind: catalogue.Tool, Name: s.name, About: unknown, Text: unknown, Own: true}}, false
}

// ask is listed after the server was asked, if it never was, or with why that failed.
func (s *server) ask(ctx context.Context) []catalogue.Item {
	items, known := s.listed()
	if known {
		return items
	}
	err := s.with(ctx, func(*live) error { return nil })
	if items, known = s.listed(); err != nil && !known {
		items[0].Text = err.Error()
	}
	return items
}

// list asks the server for its tools, and keeps what it says.
func (s *server) list(ctx context.Context, session *sdk.ClientSession) error {
	s.stale.Store(false)
	items, left := []catalogue.Item{}, []string{}
	size, seen := 0, map[string]bool{}
	for pages, p := 1, (&sdk.ListToolsParams{}); ; pages++ {
		page, err := session.ListTools(ctx, p)
		if err != nil {
			return err
		}
		for _, t := range page.Tools {
			item, err := s.item(t)
			if err != nil {
				s.log.Warn("a tool is not offered", "error", err)
				if !slices.Contains(left, err.Error()) {
					left = append(left, err.Error())
				}
				continue
			}
			if seen[item.Name] { // on a page before
				continue
			}
			seen[item.Name] = true
			items, size = append(items, item), size+len(item.About)+len(item.Text)
		}
		isLarge := len(items) > maxTools || size > maxList
		if isLarge || pages > maxPages {
			return fmt.Errorf("it lists more than %d tools, or %d MiB of them, or on %d pages", maxTools, maxList>>20, maxPages)
		}
		isLast := page.NextCursor == "" || page.NextCursor == p.Cursor // some servers repeat the last page for ever
		if isLast {
			return s.keep(items, left)
		}
		p.Cursor = page.NextCursor
	}
}

// item returns the catalogue's item of a tool.
func (s *server) item(t *sdk.Tool) (catalogue.Item, error) {
	if t == nil {
		return catalogue.Item{}, errors.New("the server lists a null")
	}
	if !validTool().MatchString(t.Name) {
		return catalogue.Item{}, fmt.Errorf("its name %.80q is not up to 128 of A-Z, a-z, 0-9, _, ., / and -", t.Name)
	}
	given, _ := t.InputSchema.(map[string]any)
	delete(given, "$schema") // which helps no model
	schema, err := json.Marshal(t.InputSchema)
	if err != nil || len(t.Description) > maxTool || len(schema) > maxTool {
		return catalogue.Item{}, fmt.Errorf("%s: its description or its schema is above %d KiB", t.Name, maxTool>>10)
	}
	return catalogue.Item{
		Kind: catalogue.Tool, Name: s.name + "/" + t.Name, About: t.Description, Text: "args: " + string(schema),
	}, nil
}

// listing is the file with the tools of a server as of the last time that it was asked.
type listing struct {
	Tools    []catalogue.Item `json:"tools"`
	Digest   string           `json:"digest"`
	Protocol string           `json:"protocol,omitempty"` // to start it with; "" for the newest
}

// path returns the path of a file about the server.
func (s *server) path(ending string) string { return filepath.Join(s.of.Home, "mcp", s.name+ending) }

// write replaces such a file.
func (s *server) write(ending string, v any) error {
	data, _ := json.MarshalIndent(v, "", " ") // strings and times: cannot fail
	path := s.path(ending)
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.WriteFile(path, data, 0o600)
}

// digest returns the digest of a listing with the server's command and address.
func (s *server) digest(items []catalogue.Item) string {
	text, _ := json.Marshal([]any{s.Command, s.URL, items}) // strings: cannot fail
	return blobs.Sum(text).String()
}

// load reads the file. One that is missing, damaged or of another command is passed over: the server will be asked.
func (s *server) load() {
	var l listing
	data, err := durable.ReadWhole(s.path(".json"), 4*maxList)
	if err != nil || json.Unmarshal(data, &l) != nil {
		return
	}
	if l.Digest == s.digest(l.Tools) {
		s.items, s.protocol, s.kept = l.Tools, l.Protocol, l.Protocol
	}
}

// keep takes over the tools of the server, and writes the file if they are new.
func (s *server) keep(items []catalogue.Item, left []string) (err error) {
	was, known := s.listed()
	s.mu.Lock()
	protocol := s.protocol
	isNew := !known || protocol != s.kept
	s.mu.Unlock()
	if isNew || !slices.Equal(was, items) {
		err = s.write(".json", listing{items, s.digest(items), protocol})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items, s.left, s.kept = items, left, protocol
	return err
}

// changed asks the server again after it said that its tools are others.
func (s *server) changed(session *sdk.ClientSession) {
	if !s.stale.CompareAndSwap(false, true) {
		return
	}
	time.AfterFunc(listEvery, func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.of.handshake)
		defer cancel()
		if err := s.list(ctx, session); err != nil {
			s.log.Warn("a server does not say what it can do now", "error", err)
		}
	})
}
