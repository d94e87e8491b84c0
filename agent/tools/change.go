package tools

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zeebo/blake3"

	"lethe/internal/secret/shape"
	"lethe/life/event"
	"lethe/mind"
)

// Version is the text of a file at a moment, or its first maxEdit bytes and one more. Its hash is of the whole file.
type Version struct {
	event.File // as a log names it: see Set.logged
	Text       string
}

// Change is the effect of a call of WRITE_FILE or EDIT_FILE, which have read the file. Its Run does nothing if the file is
// no longer Was.
type Change struct {
	Run
	Was *Version // nil: there is no file, or it cannot be read
	Now Version

	place place
}

// MostKept bounds a text that is kept when it is replaced, in bytes.
const MostKept = 1 << 20

// Restore plans to bring back a text as the file that a log names.
func (s *Set) Restore(name, text string) (*Change, error) {
	p, err := s.resolve(name)
	if err != nil {
		return nil, err
	}
	was, _ := s.present(p)
	switch {
	case shape.Marked(text):
		err = errors.New("secrets were taken out of it when it was kept, and would be lost in the file")
	case was != nil && len(was.Text) > MostKept:
		err = errors.New("what stands there has more than 1 MB, and would not be kept. Move it away")
	}
	return s.changeOf(p, was, text, ""), err
}

// changeOf plans to make a text the whole of the file at p, which was. line is the one at which an edit begins, or "".
func (s *Set) changeOf(p place, was *Version, text, line string) *Change {
	change := &Change{Was: was, Now: *s.versionOf(p, []byte(text)), place: p}
	change.Run = func(context.Context, Call) Result {
		if dir, ok := strings.CutSuffix(p.own, "/stop"); ok {
			job, _ := strconv.Atoi(path.Base(dir))
			return resultOf(textf("job %d is being stopped. A line tells its end", job), s.StopJob(job, "by you"))
		}
		done, remark, err := s.put(change)
		r := textf("%s %s: %d bytes, %d lines%s", done, p.shown, len(text), lineCount(text), remark)
		if line != "" {
			r = textf("edited %s at line %s%s", p.shown, line, remark)
		}
		r.Touched, r.Saw = p.own, change.Now
		return resultOf(r, err)
	}
	return change
}

// logged returns the name that a log has for a file that may be written: its path, relative to the workspace if it is in
// that, or self/… for an own file. It returns "" for other files.
func (s *Set) logged(p place) string {
	switch {
	case p.readOnly != "" || strings.HasPrefix(p.own, jobsDir):
		return ""
	case p.own != "":
		return p.shown
	}
	file := resolved(filepath.Join(p.dir, p.name))
	if rel, err := filepath.Rel(s.Workspace, file); err == nil && filepath.IsLocal(rel) {
		rel = filepath.ToSlash(rel)
		if head, _, _ := strings.Cut(rel, "/"); head == "self" || head == "rooms" { // else it would be an own file
			rel = "./" + rel
		}
		return rel
	}
	return file
}

// errUnseen says that nobody can tell whether a file has changed: it has more than scanBytes.
var errUnseen = errors.New("nobody can tell whether others have changed it, since it has more than " +
	sizeText(scanBytes) + ". Use BASH")

// present returns the version of the file at p; nil if there is no file that a log names, or it cannot be read.
func (s *Set) present(p place) (*Version, error) {
	if s.logged(p) == "" {
		return nil, nil
	}
	version, err := p.version()
	if err != nil {
		return nil, err
	}
	version.Name = s.logged(p)
	return version, nil
}

// version returns the version of the file at p, without a name.
func (p place) version() (*Version, error) {
	file, fi, err := p.open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if fi.Size() > scanBytes {
		return nil, errUnseen
	}
	hash := blake3.New()
	text, err := io.ReadAll(io.TeeReader(io.LimitReader(file, maxEdit+1), hash))
	if err == nil {
		_, err = io.Copy(hash, io.LimitReader(file, scanBytes))
	}
	return &Version{event.File{Hash: hex.EncodeToString(hash.Sum(nil)[:8])}, string(text)}, err
}

func (s *Set) versionOf(p place, text []byte) *Version {
	return &Version{mind.Text{Name: s.logged(p), Body: text}.Version(), string(text)}
}
