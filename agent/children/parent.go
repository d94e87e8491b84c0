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
func (parent Parent) Tools(s tools.Child) ([]string, error) {
	has, asked := slices.Clone(parent.Has), s.Names()
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
		if name == "SPAWN" && s.Files != "" { // its children would have no bounds
			return true
		}
		if name == "SPAWN" && len(home.Ancestry(parent.Store, parent.Self))+1 >= MaxDepth {
			return true
		}
		return slices.Contains(unlisted, name)
	}), nil
}

// NameFor returns a name that nobody has for the child of a call, and the room that it works in.
func (parent Parent) NameFor(call string) (name, room string) {
	hash := blobs.Sum([]byte(parent.Self + " " + call)).String()
	for digits := 4; ; digits++ {
		name = strings.TrimRight(parent.Name[:min(len(parent.Name), 31-digits)], "-") + "-" + hash[:digits]
		if _, err := os.Lstat(filepath.Join(parent.Home.Names(), name)); err != nil {
			return name, chat.TaskPrefix + hash[:8]
		}
	}
}

// Boot boots a child, or finds it.
func (parent Parent) Boot(c mind.Child, asked tools.Child, model string, pins []mind.Pin) (home.Identity, error) {
	self, _ := blobs.ParseHash(parent.Self) // it was opened by that
	names, err := parent.Tools(asked)
	if err != nil {
		return home.Identity{}, err
	}
	usd, err := asked.Limit()
	if err != nil {
		return home.Identity{}, err
	}
	var pinned []string
	for _, pin := range pins {
		pinned = append(pinned, pin.Text)
	}
	id, err := home.Boot(
		parent.Home,
		parent.Store,
		home.BootOptions{Name: c.Name, Soul: soulOf(asked, parent.Name, c.Room), Rooms: []string{c.Room},
			Child: &home.Child{
				At: c.At, Parent: self, Of: parent.Name, Room: c.Room, Brief: blobs.Gist(asked.Brief),
				Tools: names, Model: model, USD: usd,
				Schema: string(asked.Schema), Check: asked.Check, Pins: pinned,
				Files: strings.Fields(asked.Files),
			}},
	)
	if errors.Is(err, home.ErrExists) {
		if up := home.Ancestry(parent.Store, id.Self); len(up) == 0 || up[0] != parent.Self {
			return id, fmt.Errorf("the name %s is taken; call again", c.Name)
		}
		err = nil
	}
	return id, err
}

//go:embed worker.md
var worker string

// soulOf is the soul of a child: the soul that its parent asked for, and the way it works.
func soulOf(asked tools.Child, parent, room string) string {
	soul := strings.TrimSpace(
		asked.Soul + "\n\n" + strings.NewReplacer("{{parent}}", parent, "{{room}}", room).Replace(worker),
	)
	if asked.Schema != "" {
		soul += "\nYour final text has to be JSON that fits this schema, and nothing else: " + string(asked.Schema)
	}
	if asked.Check != "" {
		soul += "\nIt counts when this command, with your final text as its input, exits 0: " + asked.Check
	}
	if asked.Files != "" {
		soul += "\nOf the workspace you may write only: " + asked.Files
	}
	return soul + "\n"
}
