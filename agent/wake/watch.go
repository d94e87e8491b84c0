package wake

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/internal/pattern"
	"lethe/internal/secret/shape"
	"lethe/life/event"
	"lethe/mind"
)

const (
	maxWatched = 16 << 20 // bytes: of a larger file the size and the time are its content
	maxListed  = 10_000   // names of a watched directory

	absent = "none" // how what is not there looks
)

// open opens what a trigger watches, and waits for no pipe: of the identity's own only what is in the workspace,
// whatever links are there.
func (t *Triggers) open(r *loaded) (*os.File, error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK
	if !r.own {
		return os.OpenFile(t.leads(r.Watch), flags, 0)
	}
	work, err := os.OpenRoot(t.Tools.Workspace)
	if err != nil {
		return nil, err
	}
	defer work.Close()
	return work.OpenFile(filepath.Clean(r.Watch), flags, 0)
}

// watched returns a moment if the thing that a trigger watches differs from the newest firing's, once it has been left
// alone for settleTime.
func (t *Triggers) watched(r *loaded, fired mind.Firing, now time.Time) (m moment, ok bool) {
	known := fired.Seen
	look, newest, err := t.look(r, false)
	if err != nil {
		r.failure = err.Error()
		return m, false
	}
	if r.look == "" && known == "" {
		_, r.base = t.found(r)
	}
	firstLook := r.look == "" && cmp.Or(known, r.base) == ""
	asMade := firstLook && !newest.After(r.since) // as the trigger found it
	switch {
	case r.look == look:
	case asMade:
		r.base, _, _ = t.look(r, true)
		t.keep(r)
		fallthrough // a change in the same step of its clock looks the same
	default:
		r.changed = now
	}
	r.look = look
	if r.changed.IsZero() {
		return m, false
	}
	at := r.changed.Add(settleTime)
	least := fired.Last.Add(leastPause)
	clockWasRight := least.Before(now.Add(clockJumped))
	if r.own && clockWasRight && at.Before(least) { // the identity itself may change it in the turn that this begins
		at = least
	}
	if r.wake = at; now.Before(at) { // in quiet hours it waits on
		return m, false
	}
	r.wake = time.Time{}
	content, _, err := t.look(r, true)
	known = cmp.Or(r.base, known)
	if err != nil || content == known {
		r.changed, r.base = time.Time{}, known
		return m, false
	}
	m = moment{at: now, seen: content}
	was, as := t.listed(r)
	switch {
	case known == absent:
		was = ""
	case as == known:
	case content == absent:
		was = filepath.Base(r.Watch) + " - -"
	default: // of one file, or of a list that is not known
		return m, true
	}
	m.changes = shape.Text(changes(was, r.list))
	return m, true
}

// seenFile is a cache: the path of a watched directory, and its list at the newest firing, or as the trigger found it.
func (t *Triggers) seenFile(r *loaded) string { return filepath.Join(t.dir(), "."+r.Name+".seen") }

// keep stores the list of a watched directory as r.base has it, also an empty one.
func (t *Triggers) keep(r *loaded) {
	if mind.Digest([]byte(r.list)) == r.base {
		_ = durable.WriteFile(t.seenFile(r), []byte(r.Watch+"\n"+r.list), 0o600) // without it a line has no names
	}
}

// listed returns the list that is stored, and its digest; "" if there is no list.
func (t *Triggers) listed(r *loaded) (list, as string) {
	stored, _ := os.ReadFile(t.seenFile(r))
	list, ok := strings.CutPrefix(string(stored), r.Watch+"\n")
	if !ok {
		return "", ""
	}
	return list, mind.Digest([]byte(list))
}

// found is listed of a trigger that has not changed since.
func (t *Triggers) found(r *loaded) (list, as string) {
	if fi, err := os.Stat(t.seenFile(r)); err != nil || fi.ModTime().Before(r.since) {
		return "", ""
	}
	return t.listed(r)
}

// mostNamed bounds the files that a line names as new, gone or changed.
const mostNamed = 8

// changes says what differs between two lists of a directory.
func changes(was, now string) string {
	before, after := filesIn(was), filesIn(now)
	named := map[string][]string{}
	for name, as := range after {
		old, known := before[name]
		switch {
		case !known:
			named["came"] = append(named["came"], name)
		case old != as:
			named["changed"] = append(named["changed"], name)
		}
	}
	for name := range before {
		if after[name] == "" {
			named["went"] = append(named["went"], name)
		}
	}
	var said []string
	for _, what := range []string{"came", "changed", "went"} {
		names := named[what]
		slices.Sort(names)
		if more := len(names) - mostNamed; more > 0 {
			names = append(names[:mostNamed:mostNamed], fmt.Sprintf("and %d more", more))
		}
		if len(names) > 0 {
			said = append(said, what+": "+strings.Join(names, ", "))
		}
	}
	return strings.Join(said, "; ")
}

// filesIn maps the names in a list to their sizes and times.
func filesIn(list string) map[string]string {
	files := map[string]string{}
	for _, line := range strings.SplitAfter(list, "\n") {
		if words := strings.Split(strings.TrimSpace(line), " "); len(words) > 2 {
			name := len(words) - 2
			files[blobs.Gist(strings.Join(words[:name], " "))] = strings.Join(words[name:], " ")
		}
	}
	return files
}

// look returns a digest of a watched thing, by names, sizes and times or by its content, and the time of its last
// change. It waits for nothing.
func (t *Triggers) look(r *loaded, content bool) (as string, newest time.Time, err error) {
	if content {
		r.list = ""
	}
	f, err := t.open(r)
	if os.IsNotExist(err) {
		return absent, newest, nil
	}
	if err != nil {
		return "", newest, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return "", newest, err
	}
	var text strings.Builder
	add := func(fi fs.FileInfo) {
		fmt.Fprintf(&text, "%s %d %d\n", fi.Name(), fi.Size(), fi.ModTime().UnixNano())
		if fi.ModTime().After(newest) {
			newest = fi.ModTime()
		}
	}
	readable := fi.Mode().IsRegular() && fi.Size() <= maxWatched
	switch {
	case fi.IsDir():
		all, err := list(f, nil)
		if err != nil {
			return "", newest, err
		}
		for _, fi := range all {
			add(fi)
		}
		if fi.ModTime().After(newest) { // of a name that went, too
			newest = fi.ModTime()
		}
	default:
		add(fi)
	}
	if !content {
		return mind.Digest([]byte(text.String())), newest, nil
	}
	r.list = text.String()
	if readable {
		data, err := io.ReadAll(io.LimitReader(f, maxWatched))
		return blobs.Sum(data).String()[:16], newest, err
	}
	return mind.Digest([]byte(r.list)), newest, nil
}

// list closes a directory, after it has read what is in it, in the order of names: at most maxListed.
func list(dir *os.File, err error) ([]fs.FileInfo, error) {
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	all, err := dir.Readdir(maxListed)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Name() < all[j].Name() })
	return all, err
}

const (
	maxMail     = 10 << 20 // bytes of a file that is taken
	mailPreview = 1000     // characters of a text that its line shows
	mostMail    = 8        // lines of one sender that are unanswered at once

	mailDone, mailFailed = "processed", "failed" // directories in the mail drop
)

// mail moves the files in the directory of a trigger that LIFE has told of, and makes a line of another one, signed
// with its owner's name. LIFE tells by owner which files were seen. The record goes behind the records of out. Its text
// follows the newest blob of the life, so only the first record of a look may have one: a seal names the newest blob,
// and all that it leads to.
func (t *Triggers) mail(r *loaded, v View, out []Commit) ([]Commit, error) {
	r.failure, r.stuck = "", nil
	dir, err := os.OpenRoot(t.leads(r.Mail))
	if err != nil {
		r.failure = err.Error()
		return out, nil
	}
	defer dir.Close()
	files, err := list(dir.Open("."))
	if err != nil {
		r.failure = err.Error()
		return out, nil
	}
	var next fs.FileInfo
	quiet := r.Loud(v.Now)
	for _, fi := range files {
		if fi.IsDir() || strings.HasPrefix(fi.Name(), ".") {
			continue
		}
		by := t.sender(r, fi)
		seen := v.Fires[by+" "+r.Name].Seen
		switch settled := durable.Changed(fi).Add(settleTime); {
		case slices.Contains(strings.Fields(seen), identify(fi)):
			t.putAway(r, dir, fi)
		case settled.After(v.Now) && settled.Before(v.Now.Add(2*settleTime)):
			r.wake = Sooner(r.wake, settled)
		case quiet.After(v.Now):
			r.wake = Sooner(r.wake, quiet)
		case next == nil && mind.Awaits(v.Wakes, by) < mostMail: // what is answered calls for the next look
			next = fi
		}
	}
	if next == nil {
		return out, nil
	}
	if len(out) > 0 {
		t.Wake()
		return out, nil
	}
	if !t.enter(r, v) {
		return nil, nil
	}
	letter, err := t.letter(r, v, dir, next)
	t.Wake() // to move it, and for the next one
	return []Commit{{letter}}, err
}

// letter is the line of a file.
func (t *Triggers) letter(r *loaded, v View, dir *os.Root, fi fs.FileInfo) (rec journal.Record, err error) {
	var stored []mind.Ref
	text := fmt.Sprintf("%s\nmail: %s, %d bytes", r.Say, fi.Name(), fi.Size())
	if data, why := readMailed(dir, fi); why != "" {
		text += fmt.Sprintf(": it is not read, since %s; moved to %s/", why, mailFailed)
	} else {
		data = shape.Bytes(data)
		ref, err := t.Put(blobs.Meta{Gist: shape.Text(fi.Name()) + " (mail)", Parent: v.Last}, data)
		if err != nil {
			return rec, err
		}
		stored = []mind.Ref{ref}
		text += ", hash=" + ref.Short + preview(data)
	}
	fired := event.Fired{By: t.sender(r, fi), Trigger: r.Name, Seen: strings.Join(append(r.stuck, identify(fi)), " ")}
	rec = t.Fire(fired, strings.TrimSpace(text), v.Now, r.Room)
	rec.Stored = stored
	return rec, nil
}

// putAway moves a file that LIFE has told of. One that cannot be moved is among what the next line has seen. What has
// taken its name since the look is told first.
func (t *Triggers) putAway(r *loaded, dir *os.Root, fi fs.FileInfo) {
	if now, err := dir.Lstat(fi.Name()); err != nil || identify(now) != identify(fi) {
		return
	}
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

var unsafeInSigner = pattern.Lazy(`[^a-z0-9-]+`)

// sender signs for the owner of a file. What is owned by the user that the identity runs as is a webhook's where one
// is delivered.
func (t *Triggers) sender(r *loaded, fi fs.FileInfo) string {
	owner := fi.Sys().(*syscall.Stat_t).Uid
	if int(owner) == os.Geteuid() && slices.Contains(t.Webhooks, t.Identity.Name+"/"+r.Name) {
		return "webhook-" + r.Name
	}
	name := fmt.Sprint("uid", owner)
	if u, err := user.LookupId(name[len("uid"):]); err == nil {
		name = u.Username
	}
	return "mail-" + chat.CleanName(unsafeInSigner().ReplaceAllString(strings.ToLower(name), "-"))
}
