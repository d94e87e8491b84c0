package page

import (
	"cmp"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lethe/agent/wake/trigger"
	"lethe/bridge/report"
	"lethe/internal/durable"
)

// draft is a trigger in the form, as its file is or as it was typed. The name of a paused trigger begins with a dot, as
// its file's does, so that nothing else reads it.
type draft struct {
	Text, Seen string
	Next       []time.Time
}

const nextShown = 3 // times at which a draft would fire

// triggerPart comes before the name of a trigger, in the name of its part.
const triggerPart = "trigger "

// triggerFile is the file of a trigger.
func (f *frame) triggerFile(name string) (string, error) {
	if !trigger.ValidName(strings.TrimPrefix(name, ".")) {
		return "", report.Invalid("the name %.60q: write at most 32 of a-z, 0-9 and -, such as morning-brief", name)
	}
	return filepath.Join(report.TriggersDir(f.ID), name+".toml"), nil
}

// draftOf returns the draft that the form shows: the typed text, the file of a name, or an empty one. The error is for
// the form, too.
func draftOf(f *frame, r *http.Request) (d draft, err error) {
	name := field(r, "name")
	d.Text, d.Seen = lineEnds.Replace(r.FormValue("text")), r.FormValue("seen")
	if name != "" && d.Text == "" {
		p, err := partOf(f, nil, triggerPart+name)
		if err != nil {
			return d, err
		}
		d.Seen, d.Text = p.Seen(), p.Text
	}
	if d.Text == "" {
		return d, nil
	}
	t, err := trigger.Parse(cmp.Or(strings.TrimPrefix(name, "."), "new"), []byte(d.Text), f.Clock())
	if err != nil {
		return d, err
	}
	t = t.For(f.ID.Self)
	for at := t.Next(time.Now()); !at.IsZero() && len(d.Next) < nextShown; at = t.Next(at) {
		d.Next = append(d.Next, at)
	}
	return d, nil
}

// saveTrigger writes the file of a trigger, as edit does; asked to check it shows what would come of it.
func saveTrigger(f *frame, w http.ResponseWriter, r *http.Request) error {
	if r.FormValue("do") == "check" {
		return f.look(w, r, http.StatusOK)
	}
	_, err := draftOf(f, r)
	if err == nil {
		err = durable.MkdirAll(report.TriggersDir(f.ID), 0o700)
	}
	if err != nil {
		return f.again(w, r, err)
	}
	r.Form.Set("part", triggerPart+field(r, "name"))
	r.Form.Set("seen", cmp.Or(r.FormValue("seen"), new(part).Seen())) // a new file replaces no other
	return edit(f, w, r)
}

// turn pauses a trigger, or has a paused trigger go on, or removes it.
func turn(f *frame, r *http.Request) (string, error) {
	name, do := r.FormValue("trigger"), r.FormValue("do")
	from, err := f.triggerFile(name)
	to := filepath.Join(filepath.Dir(from), "."+name+".toml")
	if do != "pause" {
		from, to = to, from
	}
	_, there := os.Lstat(to)
	switch {
	case err != nil:
	case do == "remove":
		err = durable.Remove(from)
	case there == nil:
		err = report.Invalid("there is another trigger %s beside the one that is paused", name)
	default:
		err = durable.Rename(from, to)
		synced := durable.SyncDir(filepath.Dir(to)) // a rename that failed can have happened
		if err == nil {
			err = synced
		}
	}
	return "/agents/" + f.ID.Name + "/triggers", err
}
