package skills

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"lethe/internal/durable"
	"lethe/internal/pattern"
	"lethe/internal/sandbox"
)

// kept is the path of a file in a home for what belongs to a text: to a path, what people allowed there; to that,
// with .about behind it, what a program said of itself.
func kept(home, of string) string {
	return filepath.Join(home, "allowed", fmt.Sprintf("%x", sha256.Sum256([]byte(of))))
}

// listed is one file in the text that people allow: its size and digest, and its text, if it is one and
// not too long.
func listed(name string, data []byte) string {
	line := fmt.Sprintf("--- %s: %d bytes, SHA-256 %x\n", name, len(data), sha256.Sum256(data))
	if len(data) > maxText {
		return line
	}
	if isText := utf8.Valid(data) && !bytes.ContainsRune(data, 0); !isText {
		return line
	}
	return line + string(data) + "\n"
}

// take reads the files of an entry, and returns its SKILL.md, and what people allow: each file as listed.
func take(t tree, e *Entry, files []string) (all, skill string, err error) {
	var out strings.Builder
	for _, name := range files {
		f, err := t.Open(name)
		if err != nil {
			return "", "", err
		}
		fi, err := f.Stat()
		var data []byte
		most := int64(maxBytes)
		if name == e.Name+"/SKILL.md" {
			most = maxText + 1
		}
		if err == nil && fi.Mode().IsRegular() { // else it has become something else since it was found, and has no text
			data, err = io.ReadAll(io.LimitReader(f, most))
		}
		f.Close()
		if err != nil {
			return "", "", err
		}
		out.WriteString(listed(name, data))
		if name == e.Name+"/SKILL.md" {
			if skill = string(data); len(skill) > maxText {
				return "", "", fmt.Errorf("SKILL.md has more than %d KB", maxText>>10)
			}
		}
	}
	return out.String(), skill, nil
}

// Allow returns how an entry that waits differs from what people allowed of it, as a unified diff. With record, it
// records that people allow just that, which then survives power loss.
func (s *Shelf) Allow(e Entry, record bool) (diff string, err error) {
	now, err := s.content(&e)
	if err != nil {
		return "", err
	}
	path := kept(s.home, e.Path)
	was, err := durable.ReadWhole(path, maxKept)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if record {
		if err := keep(path, now); err != nil {
			return "", err
		}
	}
	return udiff.Unified("allowed", "now", string(was), now), nil
}

// content returns what people allow of an entry as it is now.
func (s *Shelf) content(e *Entry) (string, error) {
	if e.Kind == Rules {
		return listed(e.Name, ReadRules(e.root, e.Name)), nil
	}
	root, err := os.OpenRoot(e.root)
	if err != nil {
		return "", err
	}
	defer root.Close()
	t := tree{root, e.dir}
	files, err := s.files(t, e)
	if err != nil {
		return "", err
	}
	all, _, err := take(t, e, files)
	return all, err
}

// keep writes a file durably, and makes its directory.
func keep(path, text string) error {
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.WriteFile(path, []byte(text), 0o600)
}

// How programs say what they do.
const (
	maxAbout = 200 // bytes
	askTime  = 5 * time.Second
)

// describe runs a program, confined and without a network, for the line that says what it does; once for all that was
// taken of it, and once an hour where it says nothing.
func (s *Shelf) describe(e *Entry, all string) (about string, err error) {
	known := kept(s.home, all) + ".about"
	text, err := durable.ReadWhole(known, maxAbout)
	if fi, missing := os.Stat(known); err == nil && missing == nil && (len(text) > 0 || time.Since(fi.ModTime()) < time.Hour) {
		if len(text) == 0 {
			err = errors.New("it printed no line for --description when it was asked within the last hour")
		}
		return string(text), err
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	// A byte more than is allowed, and the end of a line.
	dir, out := filepath.Dir(e.Path), &sandbox.Head{Most: maxAbout + 2}
	end, err := sandbox.Run(ctx, sandbox.Command{
		Args: []string{e.Path, "--description"}, Dir: dir, Confine: true, Offline: true,
		Read: []string{dir}, Hide: []string{s.home}, Errors: io.Discard,
	}, out)
	about = strings.TrimSpace(string(out.Kept))
	if err == nil {
		err = ctx.Err()
	}
	ended := err == nil && end == sandbox.Outcome{}
	if !ended || !isDescription(about) {
		about, err = "", notDescribed(end, err)
	}
	return about, errors.Join(err, keep(known, about)) // "" is kept, too: it is not asked again within the hour
}

// isDescription reports whether a text is one line of at most maxAbout bytes, without control characters.
func isDescription(text string) bool {
	if text == "" || len(text) > maxAbout {
		return false
	}
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// notDescribed returns the error about a program that ended so and printed no description.
func notDescribed(end sandbox.Outcome, err error) error {
	why := fmt.Sprintf("exit code %d", end.Exit)
	if end.Failed != "" {
		why = end.Failed
	}
	if err != nil {
		why = err.Error()
	}
	const say = "it does not print a line of at most %d bytes within %v for --description (%s)"
	return fmt.Errorf(say, maxAbout, askTime, why)
}

var specifiedName = pattern.Lazy(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// faults returns what is wrong with an entry.
func (e *Entry) faults() (faults []string) {
	find := func(bad bool, what string) {
		if bad {
			faults = append(faults, what)
		}
	}
	find(e.Why != "" && !e.Waits, e.Why)
	if e.head != nil {
		find(e.head["name"] != e.Name, "its name in SKILL.md is not that of its directory")
		find(!specifiedName().MatchString(e.Name), "its name is not of a-z, 0-9 and single hyphens between them")
		find(utf8.RuneCountInString(e.head["description"]) > 1024, "its description has more than 1024 characters")
		find(utf8.RuneCountInString(e.head["compatibility"]) > 500, "its compatibility has more than 500 characters")
	}
	return faults
}
