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
	"lethe/bridge/report/parts"
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
func draftOf(page *frame, r *http.Request) (shown draft, err error) {
	name := field(r, "name")
	shown.Text, shown.Seen = lineEnds.Replace(r.FormValue("text")), r.FormValue("seen")
	if name != "" && shown.Text == "" {
		p, err := partOf(page, nil, triggerPart+name)
		if err != nil {
			return shown, err
		}
		shown.Seen, shown.Text = p.Seen(), p.Text
	}
	if shown.Text == "" {
		return shown, nil
	}
	read, err := trigger.Parse(cmp.Or(strings.TrimPrefix(name, "."), "new"), []byte(shown.Text), page.Clock())
	if err != nil {
		return shown, err
	}
	read = read.For(page.ID.Self)
	for at := read.Next(time.Now()); !at.IsZero() && len(shown.Next) < nextShown; at = read.Next(at) {
		shown.Next = append(shown.Next, at)
	}
	return shown, nil
}

// saveTrigger writes the file of a trigger, as edit does; asked to check it shows what would come of it.
func saveTrigger(page *frame, w http.ResponseWriter, r *http.Request) error {
	if r.FormValue("do") == "check" {
		return page.look(w, r, http.StatusOK)
	}
	_, err := draftOf(page, r)
	if err == nil {
		err = durable.MkdirAll(report.TriggersDir(page.ID), 0o700)
	}
	if err != nil {
		return page.again(w, r, err)
	}
	r.Form.Set("part", triggerPart+field(r, "name"))
	r.Form.Set("seen", cmp.Or(r.FormValue("seen"), new(parts.Part).Seen())) // a new file replaces no other
	return edit(page, w, r)
}

// turn pauses a trigger, or has a paused trigger go on, or removes it.
func turn(page *frame, r *http.Request) (string, error) {
	name, do := r.FormValue("trigger"), r.FormValue("do")
	from, err := page.triggerFile(name)
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
	return "/agents/" + page.ID.Name + "/triggers", err
}
