package home

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/life/event"
)

// ErasePlan lists the bytes that go from one life. It is durable before the first byte goes, names their places and
// never repeats them, and ends the same when it is carried out again after a crash:
//
//	err := plan.Save(dir)            // the commit
//	missed, err := plan.Apply(home, dir)
//	…                                // the life records it
//	err = EndErase(dir)
type ErasePlan struct {
	At     time.Time          `json:"at"`
	Places int                `json:"places"`
	End    int64              `json:"end"` // of LIFE.md when the plan was made
	Lines  []event.ErasedLine `json:"lines,omitempty"`
	Blobs  []event.Buried     `json:"blobs,omitempty"` // with tombstones of earlier erasures that LIFE does not tell of
	Files  []ErasedFile       `json:"files"`
}

// Empty reports whether nothing is to be done.
func (p *ErasePlan) Empty() bool { return len(p.Files)+len(p.Blobs) == 0 }

// ErasedFile is one file that loses bytes, or goes.
type ErasedFile struct {
	Path   string     `json:"path"`             // from the home
	Cuts   [][2]int64 `json:"cuts,omitempty"`   // from and length, in order; no newline is in them
	Sum    string     `json:"sum,omitempty"`    // of the file up to the last cut, once they are filled
	Of     string     `json:"of,omitempty"`     // the address, where it is a blob
	Remove bool       `json:"remove,omitempty"` // it is made anew, or can be missed
}

// MaxErasable bounds a file that an erasure changes, in bytes.
const MaxErasable = 1 << 30

// Fill returns the filler for n bytes.
func Fill(n int) []byte {
	fill := bytes.Repeat([]byte("."), n)
	if n >= len("[erased]") {
		copy(fill, "[erased")
		fill[n-1] = ']'
	}
	return fill
}

// pieces are the fillers of a file's cuts.
func (f *ErasedFile) pieces() (out []durable.Piece) {
	for _, c := range f.Cuts {
		out = append(out, durable.Piece{At: c[0], Data: Fill(int(c[1]))})
	}
	return out
}

// fits reports whether a file of a size in bytes has all cuts, in order.
func (f *ErasedFile) fits(size int64) bool {
	end := int64(0)
	for _, c := range f.Cuts {
		from, length := c[0], c[1]
		if from < end || from > size {
			return false
		}
		if length < 0 || length > size-from {
			return false
		}
		end = from + length
	}
	return true
}

// Mask fills the cuts of a file in data, which is the file, and returns the sum for Sum, or "" if the file does not
// have them all.
func (f *ErasedFile) Mask(data []byte) string {
	if !f.fits(int64(len(data))) {
		return ""
	}
	end := int64(0)
	for _, p := range f.pieces() {
		copy(data[p.At:], p.Data)
		end = p.At + int64(len(p.Data))
	}
	return blobs.Sum(data[:end]).String()
}

// PlanFile holds the plan, in the directory of the identity.
const PlanFile = "erase.json"

// Save makes the plan durable: from then on it is carried out, whatever happens.
func (p *ErasePlan) Save(dir string) error {
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("write the plan of an erasure: %w", err)
	}
	return durable.WriteFile(filepath.Join(dir, PlanFile), data, 0o600)
}

// LoadErasePlan reads the plan of the identity in dir; nil when nothing is to be erased.
func LoadErasePlan(dir string) (*ErasePlan, error) {
	path := filepath.Join(dir, PlanFile)
	data, err := durable.ReadWhole(path, MaxErasable)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	p := &ErasePlan{}
	if err == nil {
		err = json.Unmarshal(data, p)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return p, nil
}

// EndErase removes the plan, which was carried out.
func EndErase(dir string) error { return durable.Remove(filepath.Join(dir, PlanFile)) }

// Apply makes the bytes go that the plan of the identity in dir lists. missed are files that
// somebody has changed since the plan was made: they stay as they are.
func (p *ErasePlan) Apply(home, dir string) (missed []string, err error) {
	if err := p.note(filepath.Join(dir, "LIFE.md")); err != nil {
		return nil, err
	}
	for _, f := range p.Files {
		if inside := filepath.IsLocal(f.Path) && filepath.Clean(f.Path) != "."; !inside {
			return missed, fmt.Errorf("erase in %q: this is not in the home", f.Path)
		}
		done, err := f.apply(home, p.At)
		if err != nil {
			return missed, err
		}
		if !done {
			missed = append(missed, f.Path)
		}
	}
	return missed, nil
}

// note lists the lines of LIFE in LIFE.erased, before they change.
func (p *ErasePlan) note(path string) error {
	all, err := life.ReadErased(path)
	if err != nil || len(p.Lines) == 0 {
		return err
	}
	lines := map[int64]string{}
	for offset, e := range all {
		lines[offset] = life.EncodeErasure(offset, e)
	}
	for _, l := range p.Lines {
		lines[l.Offset] = fmt.Sprintf("%d %s %s\n", l.Offset, l.Leaf, l.Now)
	}
	var out bytes.Buffer
	for _, offset := range slices.Sorted(maps.Keys(lines)) {
		out.WriteString(lines[offset])
	}
	return durable.WriteFile(life.ErasedPath(path), out.Bytes(), 0o600)
}

// apply is false for a file that is not what the plan knows.
func (f *ErasedFile) apply(home string, at time.Time) (done bool, err error) {
	path := filepath.Join(home, f.Path)
	if f.Remove {
		return true, remove(path)
	}
	data, err := durable.ReadWhole(path, MaxErasable)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("erase in %s: %w", f.Path, err)
	}
	b, _ := blobs.Decode(data)
	inRooms := filepath.Dir(path) == chat.Dir(home) || strings.HasPrefix(f.Path, "share/rooms/")
	switch {
	case b.Gone != nil && f.made(*b.Gone, at):
		return true, durable.Sync(path)
	case !f.fits(int64(len(data))), f.Mask(data) != f.Sum:
		return false, nil
	case filepath.Ext(path) == ".md" && inRooms:
		err = chat.Erase(path, f.pieces()...)
	default:
		err = durable.Patch(path, f.pieces()...)
	}
	if err != nil || f.Of == "" {
		return true, err
	}
	file, err := Tombstone(f.Of, at, data)
	if err == nil {
		err = durable.WriteFile(path, file, 0o400)
	}
	return true, err
}

// made reports whether this plan, of a time, has made a tombstone.
func (f *ErasedFile) made(gone blobs.Tombstone, at time.Time) bool {
	return gone.Of.String() == f.Of && gone.At.Equal(at)
}

// Tombstone is the file that stands at an address, made of the blob with its cuts filled.
func Tombstone(of string, at time.Time, data []byte) ([]byte, error) {
	h, err := blobs.ParseHash(of)
	if err != nil {
		return nil, err
	}
	b, err := blobs.Decode(data)
	return blobs.EncodeTombstone(blobs.Tombstone{Of: h, Why: blobs.Erased, At: at}, b.Meta, b.Body), err
}

// remove overwrites a file before its name goes. A directory has empty files alone, and their names go.
func remove(path string) error {
	data, err := durable.ReadWhole(path, MaxErasable)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return durable.SyncDir(filepath.Dir(path)) // the process that removed it may have died before
	case errors.Is(err, durable.ErrNotRegular):
		return errors.Join(os.RemoveAll(path), durable.SyncDir(filepath.Dir(path)))
	case err == nil:
		err = durable.Patch(path, durable.Piece{Data: make([]byte, len(data))})
	}
	if err != nil {
		return err
	}
	return durable.Remove(path)
}
