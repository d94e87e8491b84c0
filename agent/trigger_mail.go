package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"lethe/blobs"
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

// mail makes a line of each file in the directory of a trigger, signed with its owner's
// name, and moves the file when the line is in LIFE. A file that a crash kept from being moved
// is known by what LIFE says was seen of that owner last.
func (t *triggers) mail(r *armed, now time.Time) error {
	r.failure = ""
	dir, err := t.root(r, r.Mail)
	if err == nil {
		defer dir.Close()
		err = t.readMail(r, dir, now)
	}
	if p := (*fs.PathError)(nil); errors.As(err, &p) || errors.As(err, new(*os.LinkError)) { // of the directory; all others are the log's
		r.failure = err.Error()
		return nil
	}
	return err
}

func (t *triggers) readMail(r *armed, dir *os.Root, now time.Time) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	names, err := d.Readdirnames(maxListed)
	d.Close()
	if err != nil && err != io.EOF {
		return err
	}
	slices.Sort(names)
	if until := r.Loud(now); until.After(now) {
		r.wake = until
		return nil
	}
	var files []fs.FileInfo
	for _, name := range names {
		fi, err := dir.Lstat(name)
		if err != nil || fi.IsDir() || strings.HasPrefix(name, ".") {
			continue
		}
		if settled := durable.Changed(fi).Add(settleTime); settled.After(now) && settled.Before(now.Add(2*settleTime)) {
			r.wake = sooner(r.wake, settled)
			continue
		}
		if t.a.state.Fires[t.sender(r, fi)].Seen == identify(fi) { // before the next one of its owner takes that place
			files = slices.Insert(files, 0, fi)
		} else {
			files = append(files, fi)
		}
	}
	for _, fi := range files {
		if err := t.take(r, dir, fi); err != nil {
			return err
		}
	}
	return nil
}

// take makes the line of one file and moves it.
func (t *triggers) take(r *armed, dir *os.Root, fi fs.FileInfo) error {
	a, by, id := t.a, t.sender(r, fi), identify(fi)
	to, text := mailDone, fmt.Sprintf("mail: %s, %d bytes", fi.Name(), fi.Size())
	data, why := readMailed(dir, fi)
	if why != "" {
		to, text = mailFailed, fmt.Sprintf("%s: it is not read, since %s; moved to %s/", text, why, mailFailed)
	}
	if a.state.Fires[by].Seen != id {
		waiting := 0
		for _, w := range a.state.Wakes {
			if w.By == by {
				waiting++
			}
		}
		if waiting >= mostMail {
			return nil
		}
		if ok, err := t.enter(r); !ok || err != nil {
			return err
		}
		rec := record{}
		if why == "" {
			ref, err := a.put(blobs.Meta{At: a.now(), Gist: fmt.Sprintf("%s (mail)", secret.Text(fi.Name())), Parent: a.state.LastBlob}, secret.Bytes(data))
			if err != nil {
				return err
			}
			text += ", hash=" + ref.Short + preview(data)
			rec.stored = []mind.Ref{ref}
		}
		if r.Say != "" {
			text = r.Say + "\n" + text
		}
		rec.event = a.firing(event.Fired{ID: a.noticeID(), By: by, Seen: id}, text, time.Now(), r.Room).event
		if err := a.commit(rec); err != nil {
			return err
		}
	}
	name := to + "/" + fi.Name()
	if _, err := dir.Lstat(name); err == nil {
		name += "." + id
	}
	return durable.Move(dir, fi.Name(), name)
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
	if now, err := f.Stat(); err != nil || !unchanged(fi, now) {
		return nil, "it changed while it was read"
	}
	if data, err = io.ReadAll(io.LimitReader(f, maxMail)); err != nil {
		return nil, "it cannot be read"
	}
	return data, ""
}

// preview is the beginning of a text; nothing of anything else.
func preview(data []byte) string {
	if len(data) == 0 || !utf8.Valid(data[:min(len(data), 4000)]) && !utf8.Valid(data) || strings.ContainsRune(string(data), 0) {
		return ""
	}
	text := strings.TrimSpace(string(data))
	if cut := mind.CutRunes(text, mailPreview); len(cut) < len(text) {
		text = cut + "…"
	}
	return "\n" + text
}

var unsafeInSigner = lazy.Regexp(`[^a-z0-9-]+`)

// sender signs for the owner of a file. What is owned by the user that the identity runs as, in
// its own workspace, is its own.
func (t *triggers) sender(r *armed, fi fs.FileInfo) string {
	name := "unknown"
	if stat, ok := fi.Sys().(*syscall.Stat_t); ok {
		uid := strconv.FormatUint(uint64(stat.Uid), 10)
		name = "uid" + uid
		if u, err := user.LookupId(uid); err == nil {
			name = u.Username
		}
		if r.own && int(stat.Uid) == os.Geteuid() {
			name = t.a.id.Name
		}
	}
	return "mail-" + chat.CleanName(unsafeInSigner().ReplaceAllString(strings.ToLower(name), "-"))
}
