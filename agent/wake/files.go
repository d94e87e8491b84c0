package wake

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/tools"
	"lethe/agent/wake/trigger"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/life/event"
	"lethe/mind"
)

// Dir is the directory of the triggers, in the identity's own.
const Dir = "triggers"

const suffix = ".toml"

// The values of AddTriggers: when an identity may write triggers.
const (
	AddSpoken = "spoken" // the default: in a turn where a user has spoken
	AddAlways = "always"
)

// Check returns a remark about a trigger that the identity writes: when it fires. The error says why the identity may
// not write it. spoken reports whether a user has spoken in the turn. Check may run beside the loop.
func (c *Config) Check(company []string, spoken bool, name, content string) (remark string, err error) {
	switch {
	case c.AddTriggers != AddAlways && !spoken:
		return "", errors.New(
			"no user has spoken in this turn, and only then you may make or change triggers. Say what you would set up, and ask",
		)
	case strings.TrimSpace(content) == "":
		return "", nil
	}
	there, _ := os.ReadDir(filepath.Join(c.Identity.Dir, Dir))
	known := slices.ContainsFunc(there, func(e fs.DirEntry) bool { return e.Name() == name+suffix })
	if len(there) >= trigger.MaxTriggers && !known {
		return "", fmt.Errorf("there are %d triggers, and no more are run: remove one by writing an empty file", len(there))
	}
	trig, err := c.Parse(name, []byte(content), company, true)
	if err != nil {
		return "", err
	}
	now := time.Now()
	in := func(at time.Time) string { return at.In(trig.Zone).Format(time.RFC3339) }
	switch next := trig.Next(now); {
	case trig.Watch != "":
		return fmt.Sprintf("It watches %s from now on; its lines come in room %s.", trig.Watch, trig.Room), nil
	case !next.IsZero():
		return fmt.Sprintf("It fires next at %s, in room %s.", in(next), trig.Room), nil
	case now.Sub(trig.At) <= trig.Grace:
		return fmt.Sprintf("warning: that time has passed: it fires at once, in room %s. It is now %s.",
			trig.Room, in(now)), nil
	}
	return "", fmt.Errorf("at = %s has passed; it is now %s", trig.At.Format(time.RFC3339), in(now))
}

// Parse reads a trigger and fills in its room; joined is the identity's company. The error says why it cannot run; with
// own, also why an identity may not write it although a person may.
func (c *Config) Parse(name string, data []byte, joined []string, own bool) (trigger.Trigger, error) {
	t, err := trigger.Parse(name, data, c.Tools.Zone)
	if err != nil {
		return t, err
	}
	t = t.For(c.Identity.Self)
	switch {
	case t.Run != "" && c.Tools.Bash == tools.BashOff:
		return t, errors.New("run: commands are off here (tools.bash in config.toml)")
	case t.Room == "" && len(joined) == 0:
		return t, errors.New("room is missing, and there is none that you hear: name one")
	case t.Room == "": // where people are, rather than where a child works
		t.Room = joined[max(0, slices.IndexFunc(joined, func(room string) bool { return !strings.HasPrefix(room, "task-") }))]
	}
	heard := slices.Contains(joined, t.Room) // also by a link that was made by hand
	switch {
	case !own && t.Watch != "" && c.written(t.Watch):
		return t, fmt.Errorf("watch = %q: Lethe itself writes there, so that each line would be a reason for the next. "+
			"Watch a workspace, or what is outside of the home", t.Watch)
	case !own && !heard:
		return t, c.Home.MayHear(c.Identity, t.Room)
	case !own:
		return t, nil
	case t.Adopt != "":
		return t, errors.New("adopt: only a person may make such a trigger")
	case t.Mail != "":
		return t, errors.New("mail: only a person may make such a trigger. Take watch, which tells that something has come")
	case !heard:
		return t, fmt.Errorf("room = %q: you are not in it. JOIN it first, or name one that you are in", t.Room)
	case t.Watch != "" && !filepath.IsLocal(t.Watch):
		return t, fmt.Errorf("%q is no relative path in your workspace: name one", t.Watch)
	case t.Every > 0 && t.Every < leastPause:
		return t, fmt.Errorf("every = %q is too often: at least 1m", t.Every)
	}
	if err := c.Tools.MayRun("run", t.Run); err != nil {
		return t, err
	}
	return t, c.Tools.MaySay(t.Room, t.Say)
}

// written reports whether the daemon writes at a path: in the home outside of workspaces.
func (c *Config) written(path string) bool {
	top, _ := filepath.EvalSymlinks(c.Home.Dir)
	path = c.leads(path)
	real, err := filepath.EvalSymlinks(path)
	if err != nil { // it is not there yet
		real = path
	}
	within, _ := filepath.Rel(top, real)
	return filepath.IsLocal(within) && !strings.Contains(within+"/", "/workspace/")
}

// reload brings the triggers in line with their files, which anyone may have changed. It
// costs a look at each.
func (t *Triggers) reload(v View) error {
	entries, err := os.ReadDir(t.dir())
	t.there = err == nil
	found := map[string]*loaded{}
	heard := strings.Join(v.Company, " ")
	for _, e := range entries {
		name, isTrigger := strings.CutSuffix(e.Name(), suffix)
		hidden := strings.HasPrefix(name, ".")
		isShown := isTrigger && !hidden
		if !isShown || len(found) == trigger.MaxTriggers {
			continue
		}
		fi, err := e.Info()
		if err != nil { // it has just gone
			continue
		}
		old := t.all[name]
		if old != nil && old.isFrom(fi, heard) {
			found[name] = old
			continue
		}
		r, err := t.read(name, fi, v)
		if err != nil {
			return err
		}
		if old != nil && old.comesWhen(r) { // a line that is about to come comes, with what is said now
			r.progress = old.progress
		}
		r.heard = heard
		found[name] = r
	}
	t.all = found
	for _, r := range t.all {
		if r.isDone(v) {
			if err := durable.Remove(filepath.Join(t.dir(), r.Name+suffix)); err != nil {
				r.failure = err.Error()
			}
		}
	}
	t.readWishes(v)
	return nil
}

// isFrom reports whether the trigger was read from a file as it is now, for an identity that hears these rooms.
func (r *loaded) isFrom(fi fs.FileInfo, heard string) bool {
	return r.heard == heard && durable.Unchanged(r.file, fi)
}

// isDone reports whether the identity wrote the trigger for one moment, it has fired, and its line is answered.
func (r *loaded) isDone(v View) bool {
	once := r.own && !r.At.IsZero()
	if !once {
		return false
	}
	fired := !v.Fires[r.Signer()].Last.Before(r.At)
	return fired && mind.Awaits(v.Wakes, r.Signer()) == 0
}

// comesWhen reports whether two versions of a trigger come at the same times, with the same command.
func (r *loaded) comesWhen(other *loaded) bool {
	sameTimes := r.When == other.When && r.Quiet == other.Quiet
	sameZone := r.Zone.String() == other.Zone.String()
	return sameTimes && sameZone && r.Run == other.Run
}

// readWishes notices which triggers a person wishes to fire now. A wish that was obeyed before a crash goes.
func (t *Triggers) readWishes(v View) {
	for _, r := range t.all {
		r.request = ""
	}
	for _, w := range v.Wishes {
		name, ok := w.Of(home.WishFire)
		fi, err := os.Lstat(w.Path(t.Identity))
		if !ok || err != nil {
			continue
		}
		r := t.all[name]
		switch {
		case r == nil || r.err != nil:
			t.Log.Warn("there is no such trigger, or it cannot run; the wish is dropped", "trigger", name)
			_ = w.Drop(t.Identity)
		case v.Fires[r.Signer()].Asked == identify(fi):
			_ = w.Drop(t.Identity)
		default:
			r.request = identify(fi)
		}
	}
}

// identify names the file that is there now: another one of its name is named otherwise.
func identify(fi fs.FileInfo) string {
	return fmt.Sprintf("%d.%d.%d", fi.Sys().(*syscall.Stat_t).Ino, fi.Size(), fi.ModTime().UnixNano())
}

// read reads a trigger from its file.
func (t *Triggers) read(name string, fi fs.FileInfo, v View) (*loaded, error) {
	file := Dir + "/" + name + suffix
	text, err := t.Identity.ReadOwn(file, t.Log)
	if err != nil {
		return nil, err
	}
	version := mind.Digest(text)
	r := &loaded{file: fi, own: v.Files[file] == version, version: version}
	r.since = durable.Changed(fi)
	r.Trigger, r.err = t.Parse(name, text, v.Company, r.own)
	age := time.Since(r.since)
	young := age >= 0 && age < settleTime
	if r.err != nil && young { // an editor may have written half of it
		r.file, r.wake = nil, r.since.Add(settleTime)
	}
	return r, nil
}

// tell says, once for each version of a file, why a trigger does not run.
func (t *Triggers) tell(r *loaded, v View) []Commit {
	file := Dir + "/" + r.Name + suffix
	known := event.File{Name: "unusable " + file, Hash: mind.Digest([]byte(r.version + r.err.Error()))}
	if r.file == nil || v.Files[known.Name] == known.Hash {
		return nil
	}
	t.Log.Warn("a trigger does not run", "trigger", r.Name, "error", r.err)
	text := fmt.Sprintf("self/%s does not run: %v.", file, r.err)
	told := Commit{journal.Told(event.Note{Why: "trigger", File: known}, "self/"+file+" does not run", text)}
	if rooms := t.Notify(); len(rooms) > 0 {
		alert := fmt.Sprintf("trigger %s does not run: %v", r.Name, r.err)
		told = append(told, journal.Record{Event: event.Error{What: "trigger", Text: alert, Notice: t.Notice(alert, rooms...)}})
	}
	return []Commit{told}
}

// Scopes returns the files and directories whose changes concern triggers.
func (t *Triggers) Scopes() (all []chat.Scope) {
	if !t.there {
		return nil
	}
	all = append(all, chat.Scope{Dir: t.dir()})
	for _, name := range slices.Sorted(maps.Keys(t.all)) { // the same list each time, or it would be watched anew
		r := t.all[name]
		if looked := r.Watch + r.Mail; looked != "" && r.err == nil { // a file, or a directory
			path := t.leads(looked)
			all = append(all, chat.Scope{Dir: filepath.Dir(path), Names: []string{filepath.Base(path)}}, chat.Scope{Dir: path})
		}
	}
	return all
}

func (c *Config) dir() string { return filepath.Join(c.Identity.Dir, Dir) }

// leads returns the absolute path that a trigger names. Relative ones are in the workspace.
func (c *Config) leads(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(c.Tools.Workspace, p)
}
