package agent

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/life/event"
	"lethe/tools"
)

// Child is what an identity is booted with that another one has spawned: whose child
// it is, and as task.toml in its directory, with what it runs.
type Child struct {
	At     time.Time  `toml:"-"` // of the call: the same call boots the same identity
	Parent blobs.Hash `toml:"parent"`
	Of     string     `toml:"of"` // the parent's name
	Room   string     `toml:"room"`
	Brief  string     `toml:"brief"` // its gist
	Tools  []string   `toml:"tools"`
	Model  string     `toml:"model"`
	USD    float64    `toml:"usd,omitzero"`
	Schema string     `toml:"schema,omitempty"`
	Check  string     `toml:"check,omitempty"`
	Pins   []string   `toml:"pins,omitempty"` // the parent's; not in SOUL.md, where nothing can be erased
}

const taskFile = "task.toml"

func (c *Child) write(id Identity) error {
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(c); err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(id.Dir, taskFile), b.Bytes(), 0o600)
}

// Child returns what the identity was spawned with; nil where nobody has.
func (id Identity) Child() (*Child, error) {
	text, _, err := durable.ReadRegular(filepath.Join(id.Dir, taskFile), maxOwn)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	c := &Child{}
	if err == nil {
		err = toml.Unmarshal(text, c)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", taskFile, id.Name, err)
	}
	return c, nil
}

// IsChild reports whether another identity has spawned this one.
func (id Identity) IsChild() bool {
	_, err := os.Lstat(filepath.Join(id.Dir, taskFile))
	return err == nil
}

//go:embed worker.md
var worker string

// soulOf is the soul of a child: the one that was asked for, and how it works.
func soulOf(s tools.Spawn, parent, room string) string {
	soul := strings.TrimSpace(s.Soul + "\n\n" + strings.NewReplacer("{{parent}}", parent, "{{room}}", room).Replace(worker))
	if s.Schema != "" {
		soul += "\nYour final text has to be JSON that fits this schema, and nothing else: " + string(s.Schema)
	}
	if s.Check != "" {
		soul += "\nIt counts when this command, with your final text as its input, exits 0: " + s.Check
	}
	return soul + "\n"
}

// maxAbove bounds how far up a child's ancestors are looked for.
const maxAbove = 8

// above are the identities that an identity is a child, or a child's child, of; the
// nearest first.
func above(store *blobs.Store, self string) (out []string) {
	for len(out) < maxAbove {
		h, err := blobs.ParseHash(self)
		if err != nil {
			return out
		}
		boot, err := store.Get(h)
		if err != nil || boot.Life != "" || boot.Parent.IsZero() {
			return out
		}
		self = boot.Parent.String()
		out = append(out, self)
	}
	return out
}

// forChild is the configuration of a child: what its parent gave it.
func (c Config) forChild(id Identity) (Config, error) {
	child, err := id.Child()
	if child == nil || err != nil {
		return c, err
	}
	if !c.Offline {
		c.Params.Model = cmp.Or(child.Model, c.Params.Model)
	}
	c.Tools.Only, c.pins = child.Tools, child.Pins
	c.Gate = Gate{Check: child.Check, Schema: json.RawMessage(child.Schema)}
	if up := above(c.Store, id.Self); len(up) > 0 && c.Tools.Workspace == "" {
		c.Tools.Lent = filepath.Join(c.Home.Agents(), up[len(up)-1], "workspace")
		c.Tools.Workspace = c.Tools.Lent
	}
	return c, nil
}

// concludeIfDue says of work that ended without a result that it has failed.
func (a *Agent) concludeIfDue() (due bool, err error) {
	if owed := a.state.Owed(); !a.state.Concludes() || owed.Answer || len(owed.Calls) > 0 || a.awaits() {
		return false, nil
	}
	why := cmp.Or(a.state.Paused, "the work ended without a result")
	return true, a.commit(record{event: event.Paused{ID: a.noticeID(), Why: why, Ended: true, Notice: a.notice(why, a.state.Task.Room)}})
}

// awaits reports whether something else than a line goes on or is waited for.
func (a *Agent) awaits() bool {
	return a.state.Expects() || len(a.state.Questions)+len(a.state.Approved) > 0
}

// finished reports whether a child that its parent runs has nothing left to do. It then stops
// until it is called again.
func (a *Agent) finished() bool {
	owed := a.state.Owed()
	return a.team.hired() && a.state.Task != nil && !a.state.Works() && !owed.Answer && len(owed.Calls)+len(owed.Posts) == 0 &&
		!a.awaits() && a.forgetting.job == nil && a.team.leave()
}

// company are the rooms that are heard but for those of its children, to whom every
// line is work.
func (a *Agent) company() []string {
	return slices.DeleteFunc(a.joined(), func(room string) bool { return a.state.Child(room) != nil })
}
