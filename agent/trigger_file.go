package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/lazy"
	"lethe/life/event"
	"lethe/mind"
	"lethe/tools"
	"lethe/trigger"
)

const (
	triggerDir = "triggers" // in the identity's directory
	suffix     = ".toml"
	nowSuffix  = ".now" // a file with which a person asks that a trigger fires now
)

// What Config.AddTriggers can be.
const (
	AddSpoken = "spoken" // the default: in turns in which a user has spoken
	AddAlways = "always"
)

// checkTrigger says what follows from a trigger that the identity writes, or why it may not. It runs
// beside the loop.
func (a *Agent) checkTrigger(name, content string) (remark string, err error) {
	switch {
	case a.cfg.AddTriggers != AddAlways && !a.call.known.spoken:
		return "", errors.New("no user has spoken in this turn, and only then you may make or change triggers. Say what you would set up, and ask")
	case strings.TrimSpace(content) == "":
		return "", nil
	}
	there, _ := os.ReadDir(a.files.path(triggerDir))
	if len(there) >= trigger.MaxTriggers && a.files.look(triggerDir+"/"+name+suffix) == nil {
		return "", fmt.Errorf("there are %d triggers, and no more are run: remove one by writing an empty file", len(there))
	}
	trig, err := a.parseTrigger(name, []byte(content), a.call.known.company, true)
	if err != nil {
		return "", err
	}
	now := time.Now()
	switch next := trig.Next(now); {
	case trig.Watch != "" || trig.Mail != "":
		return fmt.Sprintf("It watches %s from now on; its lines come in room %s.", cmp.Or(trig.Watch, trig.Mail), trig.Room), nil
	case next.IsZero() && now.Sub(trig.At) <= trig.Grace:
		return fmt.Sprintf("warning: that time has passed: it fires at once, in room %s. It is now %s.", trig.Room, now.In(trig.Zone).Format(time.RFC3339)), nil
	case next.IsZero():
		return "", fmt.Errorf("at = %s has passed; it is now %s", trig.At.Format(time.RFC3339), now.In(trig.Zone).Format(time.RFC3339))
	default:
		return fmt.Sprintf("It fires next at %s, in room %s.", next.In(trig.Zone).Format(time.RFC3339), trig.Room), nil
	}
}

// times tells when triggers fire next, and what time it is for people. It runs beside the loop.
func (a *Agent) times() (text string) {
	for _, t := range a.call.known.triggers {
		next := "none that is known"
		if !t.Next.IsZero() {
			next = t.Next.In(a.cfg.Zone).Format(time.RFC3339)
		}
		text += fmt.Sprintf("[%s: next time %s %s]\n", t.Name, next, t.Error)
	}
	return text + fmt.Sprintf("[for the people here it is %s (%s)]\n", time.Now().In(a.cfg.Zone).Format(time.RFC3339), a.cfg.Zone)
}

// written matches what the daemon writes in a home, and no workspace: that is the only "w" in the directory of an identity.
var written = lazy.Regexp(`^(\.|names|ledger|(blobs|bridges|chats|lost\+found)(/.*)?|agents(/[^/]+(/[^w].*)?)?)$`)

// parseTrigger reads a trigger, and what it does not say; joined is the identity's company. The error says what is
// wrong with it, or what an identity may not do that a person may.
func (a *Agent) parseTrigger(name string, data []byte, joined []string, own bool) (trigger.Trigger, error) {
	t, err := trigger.Parse(name, data, a.cfg.Zone)
	if err != nil {
		return t, err
	}
	t = t.For(a.id.Self)
	switch {
	case t.Run != "" && a.cfg.Tools.Bash == tools.BashOff:
		return t, errors.New("run: commands are off here (tools.bash in config.toml)")
	case t.Room == "" && len(joined) == 0:
		return t, errors.New("room is missing, and there is none that you hear: name one")
	case t.Room == "": // where people are, rather than where a child works
		t.Room = joined[max(0, slices.IndexFunc(joined, func(room string) bool { return !strings.HasPrefix(room, "task-") }))]
	}
	path := t.Watch + t.Mail
	if !own {
		home, _ := filepath.EvalSymlinks(a.cfg.Home.Dir)
		real, err := filepath.EvalSymlinks(a.triggers.path(path))
		if err != nil { // it is not there yet
			real = a.triggers.path(path)
		}
		within, _ := filepath.Rel(home, real)
		if t.Watch != "" && written().MatchString(within) {
			return t, fmt.Errorf("watch = %q: Lethe itself writes there, so that each line would be a reason for the next. "+
				"Watch a workspace, or what is outside of the home", path)
		}
		if slices.Contains(joined, t.Room) { // also by a link that was made by hand
			return t, nil
		}
		return t, a.id.MayHear(t.Room)
	}
	switch {
	case !slices.Contains(joined, t.Room):
		return t, fmt.Errorf("room = %q: you are not in it. JOIN it first, or name one that you are in", t.Room)
	case path != "" && !filepath.IsLocal(path):
		return t, fmt.Errorf("%q is no relative path in your workspace: name one", path)
	case t.Every > 0 && t.Every < leastPause:
		return t, fmt.Errorf("every = %q is too often: at least 1m", t.Every)
	}
	return t, cmp.Or(a.mayRun("run", t.Run), a.maySay(t.Room, t.Say))
}

// reload brings the triggers in line with their files, which anyone may have changed. It
// costs a look at each.
func (t *triggers) reload() error {
	found, changed := map[string]bool{}, false
	if now := lookAt(t.a.files.path(triggerDir)); !t.looked.same(now) {
		changed = (now.FileInfo == nil) != (t.looked.FileInfo == nil)
		t.looked = now
		t.entries, _ = os.ReadDir(t.a.files.path(triggerDir)) // none where it is missing
	}
	heard := strings.Join(t.a.company(), " ")
	var requests []string
	for _, e := range t.entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		if request, asked := strings.CutSuffix(e.Name(), nowSuffix); asked {
			requests = append(requests, request)
		}
		if !ok || strings.HasPrefix(name, ".") || len(found) == trigger.MaxTriggers {
			continue
		}
		found[name] = true
		fi := t.a.files.look(triggerDir + "/" + e.Name())
		if r := t.all[name]; fi == nil || r != nil && unchanged(r.file, fi) && r.heard == heard {
			continue
		}
		r, err := t.read(name, fi)
		if err != nil {
			return err
		}
		if old := t.all[name]; old != nil && old.When == r.When && old.Quiet == r.Quiet && old.Run == r.Run && old.Zone.String() == r.Zone.String() {
			kept := *old // a line that is about to come comes, with what is said now
			kept.Trigger, kept.file, kept.own, kept.err, kept.wake = r.Trigger, r.file, r.own, r.err, r.wake
			kept.version = r.version
			*r = kept
		}
		r.heard = heard
		t.all[name] = r
		changed = true
	}
	for name, r := range t.all {
		if !found[name] {
			delete(t.all, name)
			changed = true
			continue
		}
		fired := t.a.state.Fires[r.Signer()]
		if r.own && !r.At.IsZero() && !fired.Last.Before(r.At) && t.a.state.Awaits(r.Signer()) == 0 {
			t.remove(r, suffix) // it has done what it was for
		}
	}
	if changed {
		t.a.watch()
	}
	t.readRequests(requests)
	return nil
}

// readRequests notices that a person asked for triggers to fire now. A request that was obeyed
// before a crash goes.
func (t *triggers) readRequests(names []string) {
	for _, r := range t.all {
		r.request = ""
	}
	for _, name := range names {
		r, path := t.all[name], t.a.files.path(triggerDir+"/"+name+nowSuffix)
		fi, err := os.Lstat(path)
		switch {
		case err != nil:
		case r == nil || r.err != nil:
			t.a.cfg.Log.Warn("there is no such trigger, or it cannot run; the request is dropped", "trigger", name)
			_ = durable.Remove(path)
		case t.a.state.Fires[r.Signer()].Asked == identify(fi):
			t.remove(r, nowSuffix)
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
func (t *triggers) read(name string, fi fs.FileInfo) (*armed, error) {
	file := triggerDir + "/" + name + suffix
	text, err := t.a.files.read(file)
	if err != nil {
		return nil, err
	}
	r := &armed{file: fi, since: durable.Changed(fi), own: t.a.state.Files[file] == digest(text), version: digest(text)}
	r.Trigger, r.err = t.a.parseTrigger(name, text, t.a.company(), r.own)
	if age := time.Since(r.since); r.err != nil && age >= 0 && age < settleTime { // an editor may have written half of it
		r.file, r.wake = nil, r.since.Add(settleTime)
	}
	return r, nil
}

// tell says, once for each version of a file, why a trigger does not run.
func (t *triggers) tell(r *armed) error {
	file := triggerDir + "/" + r.Name + suffix
	known := event.File{Name: "unusable " + file, Hash: digest([]byte(r.version + r.err.Error()))}
	if r.file == nil || t.a.state.Files[known.Name] == known.Hash {
		return nil
	}
	t.a.cfg.Log.Warn("a trigger does not run", "trigger", r.Name, "error", r.err)
	note := t.a.note(event.Note{Why: "trigger", File: known}, "self/"+file+" does not run", fmt.Sprintf("self/%s does not run: %v.", file, r.err))
	return t.a.commit(append(t.a.alert("trigger", fmt.Sprintf("trigger %s does not run: %v", r.Name, r.err)), note)...)
}

// wrote is the version of the trigger that a call has written although it was cut short:
// what the identity wrote never has the power of what a person did.
func (a *Agent) wrote(p mind.Pending) event.File {
	name, text := tools.TriggerOf(tools.Call{Name: p.Call.Tool, Args: []byte(blobs.Unescape(p.Call.Args))})
	if name == "" {
		return event.File{}
	}
	there, err := a.files.read(name)
	if err != nil || !strings.Contains(string(there), text) {
		return event.File{}
	}
	return event.File{Name: name, Hash: digest(there)}
}

// scopes is what on disk concerns triggers.
func (t *triggers) scopes() (all []chat.Scope) {
	if t == nil || t.looked.FileInfo == nil {
		return nil
	}
	all = append(all, chat.Scope{Dir: t.a.files.path(triggerDir)})
	for _, r := range t.all {
		if looked := r.Watch + r.Mail; looked != "" && r.err == nil { // a file, or a directory
			path := t.path(looked)
			all = append(all, chat.Scope{Dir: filepath.Dir(path), Names: []string{filepath.Base(path)}}, chat.Scope{Dir: path})
		}
	}
	return all
}

// path is where a path of a trigger leads: relative ones are in the workspace.
func (t *triggers) path(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(t.a.workspace(), p)
}
