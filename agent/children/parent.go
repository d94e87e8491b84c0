package children

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lethe/agent/home"
	"lethe/agent/tools"
	"lethe/blobs"
	"lethe/chat"
	"lethe/mind"
)

// MaxDepth bounds the children of an identity: a child of a child is the last.
const MaxDepth = 2

// Tools that a child has only where its parent lists them, and tools that it always has.
var (
	unlisted = []string{"JOIN", "LEAVE"}
	kept     = []string{"UNCOMPACT", "RECALL", "COMPACT"}
)

// Parent is an identity that has others work for it.
type Parent struct {
	home.Identity
	Home  home.Home
	Store *blobs.Store
	Has   []string // the names of its tools
}

// Tools returns the tools of a child: given ones, or its parent's.
func (p Parent) Tools(s tools.Child) ([]string, error) {
	has, asked := slices.Clone(p.Has), s.Names()
	for _, name := range asked {
		if !slices.Contains(has, name) {
			return nil, fmt.Errorf("tools names %s, which you do not have yourself: yours are %s", name, strings.Join(has, ", "))
		}
	}
	return slices.DeleteFunc(has, func(name string) bool {
		switch {
		case slices.Contains(kept, name):
			return false
		case len(asked) > 0:
			return !slices.Contains(asked, name)
		}
		if name == "SPAWN" && len(home.Ancestry(p.Store, p.Self))+1 >= MaxDepth {
			return true
		}
		return slices.Contains(unlisted, name)
	}), nil
}

// NameFor returns a name that nobody has for the child of a call, and the room that it works in.
func (p Parent) NameFor(call string) (name, room string) {
	hash := blobs.Sum([]byte(p.Self + " " + call)).String()
	for digits := 4; ; digits++ {
		name = strings.TrimRight(p.Name[:min(len(p.Name), 31-digits)], "-") + "-" + hash[:digits]
		if _, err := os.Lstat(filepath.Join(p.Home.Names(), name)); err != nil {
			return name, chat.TaskPrefix + hash[:8]
		}
	}
}

// Boot boots a child, or finds it.
func (p Parent) Boot(c mind.Child, s tools.Child, model string, pins []mind.Pin) (home.Identity, error) {
	self, _ := blobs.ParseHash(p.Self) // it was opened by that
	names, err := p.Tools(s)
	if err != nil {
		return home.Identity{}, err
	}
	usd, err := s.Limit()
	if err != nil {
		return home.Identity{}, err
	}
	var pinned []string
	for _, pin := range pins {
		pinned = append(pinned, pin.Text)
	}
	id, err := home.Boot(
		p.Home,
		p.Store,
		home.BootOptions{Name: c.Name, Soul: soulOf(s, p.Name, c.Room), Rooms: []string{c.Room}, Child: &home.Child{
			At: c.At, Parent: self, Of: p.Name, Room: c.Room, Brief: blobs.Gist(s.Brief), Tools: names, Model: model, USD: usd,
			Schema: string(s.Schema), Check: s.Check, Pins: pinned,
		}},
	)
	if errors.Is(err, home.ErrExists) {
		if up := home.Ancestry(p.Store, id.Self); len(up) == 0 || up[0] != p.Self {
			return id, fmt.Errorf("the name %s is taken; call again", c.Name)
		}
		err = nil
	}
	return id, err
}

//go:embed worker.md
var worker string

// soulOf is the soul of a child: the soul that its parent asked for, and the way it works.
func soulOf(s tools.Child, parent, room string) string {
	soul := strings.TrimSpace(
		s.Soul + "\n\n" + strings.NewReplacer("{{parent}}", parent, "{{room}}", room).Replace(worker),
	)
	if s.Schema != "" {
		soul += "\nYour final text has to be JSON that fits this schema, and nothing else: " + string(s.Schema)
	}
	if s.Check != "" {
		soul += "\nIt counts when this command, with your final text as its input, exits 0: " + s.Check
	}
	return soul + "\n"
}
