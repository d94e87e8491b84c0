package wake

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/lazy"
	"lethe/internal/secret"
	"lethe/life/event"
	"lethe/mind"
)

const (
	maxMail     = 10 << 20 // bytes of a file that is taken
	mailPreview = 1000     // characters of a text that its line shows
	mostMail    = 8        // lines of one sender that are unanswered at once

	mailDone, mailFailed = "processed", "failed" // directories in the mail drop
)

// mail makes lines of the files in the directory of a trigger, signed with their owners' names, and moves each
// when its line is in LIFE. One that a crash kept from being moved, or that cannot be, is known by what LIFE says
// was seen of its owner there. Its records go behind those of out. Texts follow the newest blob of the life, so only
// the first record of a look has any: a seal names the newest one, and all that it leads to.
func (t *Triggers) mail(r *loaded, v View, out []Record) ([]Record, error) {
	now := v.Now
	r.failure, r.stuck = "", nil
	dir, err := t.root(r, r.Mail)
	if err != nil {
		r.failure = err.Error()
		return out, nil
	}
	defer dir.Close()
	d, err := dir.Open(".")
	if err != nil {
		r.failure = err.Error()
		return out, nil
	}
	names, _ := d.Readdirnames(maxListed)
	d.Close()
	slices.Sort(names)
	letters := map[string][]fs.FileInfo{} // by who signs for them
	for _, name := range names {
		fi, err := dir.Lstat(name)
		if err != nil || fi.IsDir() || strings.HasPrefix(name, ".") {
			continue
		}
		by, changed := t.sender(r, fi), durable.Changed(fi)
		switch settled := changed.Add(settleTime); {
		case slices.Contains(strings.Fields(v.Fires[by+" "+r.Name].Seen), identify(fi)):
			t.putAway(r, dir, fi)
		case r.own && ours(fi) && !t.called.IsZero() && changed.After(t.called):
			letters[""] = append(letters[""], fi)
		case settled.After(now) && settled.Before(now.Add(2*settleTime)):
			r.wake = Sooner(r.wake, settled)
		default:
			letters[by] = append(letters[by], fi)
		}
	}
	for _, by := range slices.Sorted(maps.Keys(letters)) {
		most, least := 1, r.Loud(now)
		if r.own { // they come together
			most = len(names)
			if at := v.Fires[by+" "+r.Name].Last.Add(leastPause); at.After(least) && at.Sub(now) <= leastPause {
				least = at
			}
			if r.wake.After(least) { // one that is being written comes with them
				least = r.wake
			}
		}
		if by != "" && least.After(now) {
			r.wake = Sooner(r.wake, least)
			continue
		}
		if by != "" && len(out) > 0 {
			t.Stir()
			break
		}
		batch := letters[by]
		if len(batch) > most { // the next line waits until it is known what this one has seen
			batch = batch[:most]
		}
		record, ok, err := t.take(r, v, dir, by, batch)
		if err != nil {
			return nil, err
		}
		if !ok { // what is answered, or the clock, calls for the next look
			continue
		}
		out = append(out, record)
		if len(batch) < len(letters[by]) {
			t.Stir()
		}
	}
	return out, nil
}

// take makes one line of letters and moves them. What nobody signs for came into a drop that the identity has made for
// itself while it called tools: its calls put that there or somebody else did, which cannot be told. So
// it wakes nobody, and nothing is passed over. What a crash keeps from being noted is a letter like any other.
func (t *Triggers) take(
	r *loaded, v View, dir *os.Root, by string, letters []fs.FileInfo,
) (rec Record, ok bool, err error) {
	if v.Awaits(by) >= mostMail || !t.enter(r, v) {
		return rec, false, nil
	}
	parent := v.Last
	text, seen := "", strings.Join(r.stuck, " ")
	for _, fi := range letters {
		seen += " " + identify(fi)
		text += fmt.Sprintf("\nmail: %s, %d bytes", fi.Name(), fi.Size())
		if by == "" {
			continue
		}
		data, why := readMailed(dir, fi)
		if why != "" {
			text += fmt.Sprintf(": it is not read, since %s; moved to %s/", why, mailFailed)
			continue
		}
		ref, err := t.Put(secret.Text(fi.Name())+" (mail)", secret.Bytes(data), parent)
		if err != nil {
			return rec, false, err
		}
		parent, rec.Stored = ref.Hash, append(rec.Stored, ref)
		text += ", hash=" + ref.Short + preview(data)
	}
	if by == "" {
		rec.Event, rec.Gist = event.Note{Why: "mail"}, "mail of its own"
		rec.Text = "Put into " + r.Mail + " while you called tools. It wakes nobody: read in " +
			mailDone + "/ what you did not put there." + text
	} else {
		rec.Event = event.Fired{By: by, Trigger: r.Name, Seen: strings.TrimSpace(seen)}
		rec.Text, rec.At, rec.Rooms = strings.TrimSpace(r.Say+text), v.Now, []string{r.Room}
	}
	rec.Done = func() { t.putAllAway(r, letters) }
	return rec, true, nil
}

// putAllAway moves files that LIFE has told of.
func (t *Triggers) putAllAway(r *loaded, letters []fs.FileInfo) {
	dir, err := t.root(r, r.Mail)
	if err != nil { // the next look finds them among what was seen
		r.failure = err.Error()
		return
	}
	defer dir.Close()
	for _, fi := range letters {
		t.putAway(r, dir, fi)
	}
}

// putAway moves a file that LIFE has told of. One that cannot be moved is among what the next line has seen.
func (t *Triggers) putAway(r *loaded, dir *os.Root, fi fs.FileInfo) {
	name := mailDone + "/" + fi.Name()
	if _, why := readMailed(dir, fi); why != "" {
		name = mailFailed + "/" + fi.Name()
	}
	if _, err := dir.Lstat(name); err == nil {
		name += "." + identify(fi)
	}
	if err := durable.Move(dir, fi.Name(), name); err != nil {
		r.failure, r.stuck = err.Error(), append(r.stuck, identify(fi))
	}
}

// readMailed reads a file that anybody may have put there, or says why it is not taken.
func readMailed(dir *os.Root, fi fs.FileInfo) (data []byte, why string) {
	switch {
	case !fi.Mode().IsRegular():
		return nil, "it is no regular file"
	case fi.Size() > maxMail:
		return nil, fmt.Sprintf("it is larger than %d bytes", maxMail)
	}
	f, err := dir.OpenFile(fi.Name(), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, "it cannot be opened"
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !durable.Unchanged(fi, now) {
		return nil, "it changed while it was read"
	}
	if data, err = io.ReadAll(io.LimitReader(f, maxMail)); err != nil {
		return nil, "it cannot be read"
	}
	return data, ""
}

// preview is the beginning of a text; nothing of anything else.
func preview(data []byte) string {
	if !utf8.Valid(data) || strings.ContainsRune(string(data), 0) {
		return ""
	}
	text := strings.TrimSpace(string(data))
	if cut := mind.CutRunes(text, mailPreview); len(cut) < len(text) {
		text = cut + "…"
	}
	return "\n" + text
}

var unsafeInSigner = lazy.Regexp(`[^a-z0-9-]+`)

// ours reports whether a file is of the user that the identity runs as, as those are that its calls make.
func ours(fi fs.FileInfo) bool { return int(fi.Sys().(*syscall.Stat_t).Uid) == os.Geteuid() }

// sender signs for the owner of a file. What is owned by the user that the identity runs as is its own in a drop that
// it has made for itself, and a webhook's where one is delivered.
func (t *Triggers) sender(r *loaded, fi fs.FileInfo) string {
	owner := fi.Sys().(*syscall.Stat_t).Uid
	name := fmt.Sprint("uid", owner)
	if u, err := user.LookupId(name[len("uid"):]); err == nil {
		name = u.Username
	}
	switch {
	case ours(fi) && r.own:
		name = t.Identity.Name
	case ours(fi) && slices.Contains(t.Webhooks, t.Identity.Name+"/"+r.Name):
		return "webhook-" + r.Name
	}
	return "mail-" + chat.CleanName(unsafeInSigner().ReplaceAllString(strings.ToLower(name), "-"))
}
