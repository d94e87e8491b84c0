package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lethe/home"
	"lethe/internal/durable"
	"lethe/wake"
)

// readWishes looks at the wishes, and obeys those that wait for nothing. The watcher tells of later ones.
func (a *Agent) readWishes() {
	a.wishes = home.Wishes(a.id)
	for _, w := range a.wishes {
		if job, ok := w.Of(home.WishStopJob); ok {
			_ = w.Drop(a.id)
			a.stopJob(job, "a person")
		}
	}
}

// wished reports whether a wish without an argument was there when the wishes were read.
func (a *Agent) wished(w home.Wish) bool { return slices.Contains(a.wishes, w) }

// obeyed removes a wish that the identity has obeyed.
func (a *Agent) obeyed(w home.Wish) error {
	a.wishes = slices.DeleteFunc(a.wishes, func(other home.Wish) bool { return other == w })
	return w.Drop(a.id)
}

// beginWishes makes the folder, which is watched, takes over wishes that were left for an older program, and drops what
// was meant for the process before this one.
func (a *Agent) beginWishes() error {
	if _, err := os.Stat(home.WishDir(a.id)); err != nil {
		if err := durable.MkdirAll(home.WishDir(a.id), 0o700); err != nil {
			return err
		}
	}
	old, _ := filepath.Glob(a.files.path(wake.Dir + "/*.now"))
	for _, name := range []string{"stop", "stop-job", "compact", "branch"} {
		old = append(old, a.files.path(name))
	}
	for _, path := range old {
		text, _, err := durable.ReadRegular(path, maxOldWish)
		if err != nil {
			continue // none, or a directory
		}
		if wish := oldWish(filepath.Base(path), string(text)); wish == "" || home.Ask(a.id, wish) != nil {
			a.cfg.Log.Warn("a wish that was left for an older lethe is dropped; wish it again", "file", path)
		}
		_ = durable.Remove(path)
	}
	return home.WishStop.Drop(a.id)
}

const maxOldWish = 1000 // bytes

// oldWish returns the wish that a file of older programs left, or "" for one of a process that is gone. The file branch
// held where to, or 0 and a label.
func oldWish(file, text string) home.Wish {
	if name, ok := strings.CutSuffix(file, ".now"); ok {
		return home.WishFire + home.Wish(name)
	}
	switch words := strings.Fields(text); {
	case file == "compact":
		return home.WishCompact
	case file == "branch" && len(words) == 2:
		return home.WishLabel + home.Wish(words[1])
	case file == "branch" && len(words) == 1:
		return home.WishBack + home.Wish(words[0])
	}
	return ""
}
