package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"lethe/agent/home"
	"lethe/agent/status"
	"lethe/agent/wake/trigger"
	"lethe/chat"
	"lethe/internal/durable"
)

// Trigger wakes an identity by itself, or has done so.
type Trigger struct {
	Name string    `json:"name"`
	When string    `json:"when,omitempty"` // "" where its file is gone or wrong
	Room string    `json:"room,omitempty"`
	Next time.Time `json:"next,omitzero"`
	// Paused says that a dot before the name of its file keeps it from firing.
	Paused bool `json:"paused,omitempty"`
	Firings
	Error string `json:"error,omitempty"`
}

// TriggersDir returns the directory with the files of an identity's triggers.
func TriggersDir(id home.Identity) string { return filepath.Join(id.Dir, "triggers") }

// Triggers lists the triggers that have a file, and those that have fired and lost theirs, by name.
func (h Home) Triggers(id home.Identity) ([]Trigger, error) {
	fired, err := firingsOf(id.LIFE())
	if err != nil {
		return nil, id.Unread(err)
	}
	files, err := os.ReadDir(TriggersDir(id))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	all := []Trigger{}
	for _, file := range files {
		if strings.HasSuffix(file.Name(), ".toml") {
			all = append(all, h.triggerOf(id, file.Name(), fired))
		}
	}
	if live, running := Live(id); running {
		addErrors(all, live)
	}
	for by, f := range fired {
		if chat.ByTrigger(by) {
			all = append(all, Trigger{Name: by, Firings: *f})
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all, nil
}

// triggerOf reads the file of a trigger, and takes its firings.
func (h Home) triggerOf(id home.Identity, file string, fired map[string]*Firings) Trigger {
	name, paused := strings.CutPrefix(strings.TrimSuffix(file, ".toml"), ".")
	one := Trigger{Name: name, Paused: paused}
	parsed, err := h.ReadTrigger(filepath.Join(TriggersDir(id), file), name)
	if err != nil {
		one.Error = err.Error()
		return one
	}
	if one.When, one.Room = parsed.When, parsed.Room; !paused {
		one.Next = parsed.For(id.Self).Next(time.Now())
	}
	if known := fired[parsed.Signer()]; known != nil {
		one.Firings = *known
		delete(fired, parsed.Signer())
	}
	return one
}

// addErrors adds the errors that only the identity knows, such as that a trigger may not fire.
func addErrors(all []Trigger, live status.Status) {
	for _, known := range live.Triggers {
		for i := range all {
			isRead := all[i].When != ""
			if isRead && all[i].Name == known.Name {
				all[i].Error = known.Error
			}
		}
	}
}

// ReadTrigger reads the file of a trigger of that name. The error wraps fs.ErrNotExist if there is no such file.
func (h Home) ReadTrigger(path, name string) (trigger.Trigger, error) {
	data, err := durable.ReadWhole(path, trigger.MaxBytes)
	if err != nil {
		return trigger.Trigger{}, err
	}
	return trigger.Parse(name, data, h.Clock())
}

// Wrong returns an error for the files of triggers that make no sense, or nil.
func Wrong(id home.Identity, all []Trigger) error {
	var faults []string
	for _, t := range all {
		if t.Error != "" {
			faults = append(faults, fmt.Sprintf("%s: %s", t.Name, strings.Join(strings.Fields(t.Error), " ")))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	where := fmt.Sprintf("they are in %s; see docs/triggers.md", TriggersDir(id))
	return hintedError{fmt.Errorf("triggers of %s: %s", id.Name, strings.Join(faults, "; ")), where}
}
