package home

import (
	"net/url"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/internal/secret/shape"
)

// A Wish asks something of a running identity. It is an empty file in the folder wishes of the identity, whose name
// says all of it: "stop", or "stop-job 3". A stop says inside why, if no person wants it. The identity removes it when
// it has obeyed.
type Wish string

// Wishes; if one ends in a space, it needs an argument.
const (
	WishStop    Wish = "stop"
	WishCompact Wish = "compact"
	WishKeep    Wish = "compact "  // with what is to be kept or dropped, as KeepWish writes it
	WishStopJob Wish = "stop-job " // a number
	WishLabel   Wish = "label "    // for the present moment
	WishBack    Wish = "back "     // to the moment that ends at an offset of LIFE
	WishFire    Wish = "fire "     // a trigger
	WishModel   Wish = "model "    // a model's name, its path escaped
	WishRestore Wish = "restore "  // an earlier text of a file: see RestoreWish
	WishAdopt   Wish = "adopt "    // what package shelf reads inside; with who asks
	WishAdopted Wish = "adopted "  // no wish: it answers a WishAdopt
	WishRefused Wish = "refused "  // no wish: it answers a WishRestore, and says inside why
)

// Of returns the argument of a wish of this kind.
func (w Wish) Of(kind Wish) (arg string, ok bool) { return strings.CutPrefix(string(w), string(kind)) }

// RestoreWish is the wish for an earlier text, by its short hash, of the file whose name is to stand inside, and what answers
// it. A hash of that name tells wishes for one text apart.
func RestoreWish(ref, file string) (wish, answer Wish) {
	of := Wish(ref + " " + blobs.Sum([]byte(file)).String()[:16])
	return WishRestore + of, WishRefused + of
}

// CompactWish is the wish for a compaction, with a person's words, such as "keep the decisions", or without.
func CompactWish(keep string) Wish {
	keep = strings.NewReplacer("%", "%25", "/", "%2F").Replace(strings.Join(strings.Fields(shape.Text(keep)), " "))
	return WishCompact + Wish(strings.TrimRight(" "+keep, " "))
}

// Compaction returns the first wish for a compaction, or "", and what a person says of it.
func Compaction(wishes []Wish) (w Wish, keep string) {
	for _, w := range wishes {
		if text, ok := w.Of(WishCompact); ok {
			keep, _ := url.PathUnescape(strings.TrimSpace(text)) // nothing, if this program did not write it
			return w, keep
		}
	}
	return "", ""
}

func WishDir(id Identity) string { return filepath.Join(id.Dir, "wishes") }

func (w Wish) Path(id Identity) string { return filepath.Join(WishDir(id), string(w)) }

// Ask leaves a wish with an identity. When it returns, the wish survives power loss. An identity that does not run
// obeys when it does; but a stop is only for the process that runs now, and ends that it is kept running.
func Ask(id Identity, w Wish) error {
	if w == WishStop {
		return AskStop(id, "")
	}
	return Leave(id, w, "")
}

// Drained is why an identity stops that another host is to go on with.
const Drained = "drained"

// AskStop is Ask for a stop, and says why; "" is that a person wants it.
func AskStop(id Identity, why string) error {
	if err := id.Unstart(); err != nil {
		return err
	}
	return Leave(id, WishStop, why)
}

// StopReason returns why a stop was asked for.
func StopReason(id Identity) string {
	if WishStop.Text(id) == Drained {
		return Drained
	}
	return "request"
}

// Leave is Ask for any wish with a text inside.
func Leave(id Identity, w Wish, text string) error {
	if err := durable.MkdirAll(WishDir(id), 0o700); err != nil {
		return err
	}
	return durable.WriteFile(w.Path(id), []byte(text), 0o600)
}

// Text returns what a wish says inside, up to 8 KB.
func (w Wish) Text(id Identity) string {
	text, _, _ := durable.ReadRegular(w.Path(id), 8<<10)
	return string(text)
}

// Asked reports whether an identity has yet to obey a wish. What is no file, such as a directory, asks for nothing.
func Asked(id Identity, w Wish) bool {
	fi, err := os.Lstat(w.Path(id))
	return err == nil && fi.Mode().IsRegular()
}

// Drop removes a wish.
func (w Wish) Drop(id Identity) error {
	if !Asked(id, w) {
		return nil
	}
	return durable.Remove(w.Path(id))
}

// Wishes returns the wishes that an identity has yet to obey, the oldest first.
func Wishes(id Identity) (all []Wish) {
	entries, _ := os.ReadDir(WishDir(id))
	at := map[Wish]time.Time{}
	for _, e := range entries {
		if fi, err := e.Info(); err == nil && fi.Mode().IsRegular() {
			w := Wish(e.Name())
			all, at[w] = append(all, w), fi.ModTime()
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return at[all[i]].Before(at[all[j]]) })
	return all
}
