package check

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lethe/agent"
	"lethe/blobs"
	"lethe/internal/lazy"
	"lethe/life"
	"lethe/life/event"
	"lethe/proof"
)

// VerifyOptions are what Verify holds a life against.
type VerifyOptions struct {
	Against  *proof.Checkpoint      // that was kept elsewhere, or nil
	Key      string                 // the home's public one, by which the newest seal has to be while the life goes on here; "" takes any
	Progress func(done, size int64) // bytes of LIFE; may be nil
}

// Verdict is what Verify has found.
type Verdict struct {
	Lines      int64            `json:"lines"`          // of LIFE, up to the fault if that is one of them
	Seals      int64            `json:"seals"`          // that hold
	Signer     string           `json:"key,omitempty"`  // the public key of the newest of them
	Checkpoint proof.Checkpoint `json:"checkpoint"`     // that it is; its Size is how many lines are sealed
	Torn       int64            `json:"torn,omitempty"` // bytes behind the lines, that a crash left of the last append, or that somebody made look so
	Erased     int              `json:"erased"`         // lines and blobs of which bytes are gone, as sealed lines say
	Blobs      int              `json:"blobs"`          // that the life refers to
	Fault      error            `json:"-"`              // the first; nil if the life was not altered
}

// Unsealed is how many lines came after the newest seal.
func (v *Verdict) Unsealed() int64 { return v.Lines - v.Checkpoint.Size - min(v.Seals, 1) }

// verifier reads one life. What is left of lines and blobs of which bytes are gone is told apart by a
// line's offset and a blob's address.
type verifier struct {
	VerifyOptions
	Verdict
	id     agent.Identity
	tree   proof.Tree
	next   string                    // the key that seals from here on; "" takes any
	same   bool                      // the root of Against is that of these lines
	signed bool                      // a key that seals this life has signed it
	gone   map[int64]life.Erasure    // what LIFE.erased says
	left   map[string]string         // hashes of what is there
	last   life.Append               // as far as it was read
	sealed map[string]string         // what lines say that there is, of appends that end with a seal
	parent map[blobs.Hash]blobs.Hash // of each blob
	newest string                    // blob, as a line names it
	lasts  map[string]bool           // the newest blobs, as seals name them
	refs   map[blobs.Hash]int64      // the line that first names a blob by the beginning of its address
	epochs []blobs.Hash              // snapshots
	before *verifier                 // of the ancestor of a fork, as far as its lines tell of what was erased
	nobody bool                      // that ancestor is not in this home
	lost   error                     // the first blob that is missing or damaged
}

func newVerifier(id agent.Identity, o VerifyOptions) *verifier {
	return &verifier{VerifyOptions: o, id: id, left: map[string]string{}, sealed: map[string]string{}, parent: map[blobs.Hash]blobs.Hash{}, lasts: map[string]bool{}, refs: map[blobs.Hash]int64{}}
}

// Verify finds out whether a life was altered: it checks the checksum of each line, each seal, that
// sealed lines tell of what was erased, and that the blobs are there, down to the boot. It changes
// nothing, and the life may run. An error says that it could not find out.
func Verify(id agent.Identity, store *blobs.Store, o VerifyOptions) (Verdict, error) {
	v := newVerifier(id, o)
	all, err := list(store)
	if err == nil {
		err = v.lines(newReacher(id, all, func(h blobs.Hash) error { v.blob(store, h); return nil }, func(_ blobs.Hash, err error) { v.lost = cmp.Or(v.lost, err) }))
	}
	if bad, ok := errors.AsType[*life.CorruptError](err); ok {
		v.Fault, err = fmt.Errorf("line %d, at byte %d: %s", v.Lines+1, bad.Offset, bad.Why), nil
	}
	if err == nil && v.Fault == nil {
		v.Fault = cmp.Or(v.signer(), v.against(), v.erasures(), v.chain(store))
	}
	return v.Verdict, err
}

// lines goes through LIFE. A line whose checksum does not fit ends it: it comes before a seal that does not hold.
func (v *verifier) lines(r *reacher) error {
	from, err := life.ReadFrom(v.id.LIFE(), life.Mark{})
	if err != nil {
		return err
	}
	defer from.Close()
	if v.gone, err = life.ReadErased(v.id.LIFE()); err != nil {
		return err
	}
	if r != nil {
		from.Until(r.end(v.id))
	}
	for told := int64(0); ; {
		v.same = v.same || v.Against != nil && v.Against.Size == v.tree.Size && v.Against.Root == v.tree.Root()
		at := from.At.Offset
		line, follows, err := from.Next()
		if err == io.EOF {
			v.Torn = from.Size - at
			return nil
		}
		if err != nil {
			return err
		}
		v.Lines++
		v.last.Add(line, follows)
		if err := v.line(line); err != nil && v.Fault == nil {
			v.Fault = fmt.Errorf("line %d, at byte %d: %w", v.Lines, at, err)
		}
		leaf := life.Leaf(from.Line)
		if e, ok := v.gone[at]; ok && e.Now == leaf {
			v.left[fmt.Sprint(at)] = fmt.Sprintf("%x:%x", e.Before, e.Now)
			leaf = e.Before
		}
		v.tree.Add(leaf)
		if r != nil {
			_ = r.line(line) // lost has what is wrong
			v.name(r, line)
		}
		if done := from.At.Offset; v.Progress != nil && (done-told > 1<<22 || done == from.Size) {
			told = done
			v.Progress(done, from.Size)
		}
	}
}

// line takes in what a line says about the log and its blobs.
func (v *verifier) line(line life.Event) error {
	if len(line.Refs) > 0 && line.Kind != "fade" { // whose blobs are nothing without the epoch behind it
		v.newest = line.Refs[len(line.Refs)-1].Hash
	}
	if line.Kind != life.Sealed {
		return nil
	}
	e, err := event.Parse(line)
	if err == nil {
		err = v.seal(e.(event.Sealed))
	}
	return err
}

// stated takes in what a line says is left of lines and blobs of which bytes are gone.
func stated(line life.Event, left map[string]string) {
	for _, text := range append(line.All("line"), line.All("blob")...) {
		if what, is, ok := strings.Cut(text, ":"); ok && line.Kind == "erased" {
			left[what] = is
		}
	}
}

// name takes in the blobs that a line names by the beginnings of their addresses.
func (v *verifier) name(r *reacher, line life.Event) {
	for _, ref := range line.Refs {
		h, err := r.find(ref.Hash)
		if _, known := v.refs[h]; err == nil && !known && line.Kind != "fade" {
			v.refs[h] = v.Lines
		}
		if line.Kind == life.Epoch {
			v.epochs = append(v.epochs, h)
		}
	}
}

func (v *verifier) seal(e event.Sealed) error {
	c := proof.Checkpoint{Self: v.id.Self, Size: v.tree.Size, Root: v.tree.Root(), Last: e.Last, Sig: proof.Binary(e.Sig)}
	lines := fmt.Sprintf("lines %d to %d", v.Checkpoint.Size+1, c.Size)
	received := slices.ContainsFunc(v.last, func(line life.Event) bool { // its home has written the line and the seal
		return line.Kind == "received" && line.Get("key") == e.Key
	})
	switch {
	case e.Size != c.Size || e.Root != proof.Text(c.Root[:]):
		return fmt.Errorf("this seal is of other lines: of %s at least one was altered, added or left out", lines)
	case c.Verify(e.Key) != nil:
		return fmt.Errorf("this seal has no signature of the key that it names: %s may be anybody's", lines)
	case v.next != "" && v.next != e.Key && !received:
		return fmt.Errorf("this seal is by another key than the one before, and no line says that another home received the life: %s may be anybody's", lines)
	}
	v.Seals++
	v.Checkpoint, v.Signer, v.next = c, e.Key, e.Key
	for _, line := range v.last {
		stated(line, v.sealed)
	}
	if v.lasts[e.Last] = true; e.Last == "" { // of an older program
		delete(v.lasts, "")
	}
	v.signed = v.signed || v.Against != nil && v.Against.Verify(e.Key) == nil
	return nil
}

// signer checks whose the newest seal is.
func (v *verifier) signer() error {
	if _, err := os.Lstat(filepath.Join(v.id.Dir, "mirror")); err == nil || v.Seals == 0 || v.Key == "" || v.Key == v.Signer {
		return nil
	}
	return fmt.Errorf("its newest seal is by the key %s, which is not this home's", v.Signer)
}

// against checks the checkpoint that was kept.
func (v *verifier) against() error {
	switch a := v.Against; {
	case a == nil:
		return nil
	case v.same && v.signed:
		if a.Last != "" {
			v.lasts[a.Last] = true
		}
		return nil
	case a.Size > v.tree.Size:
		return fmt.Errorf("it has %d lines, and the checkpoint is of %d: LIFE was cut back", v.tree.Size, a.Size)
	case !v.same:
		return fmt.Errorf("lines 1 to %d are not those of the checkpoint: they were altered and sealed anew", a.Size)
	}
	return errors.New("the checkpoint is not signed by a key that seals this life")
}

// blob takes in a blob that the life refers to.
func (v *verifier) blob(store *blobs.Store, h blobs.Hash) {
	b, err := store.Get(h)
	if err == nil && b.Gone != nil {
		v.left[h.String()] = b.Gone.Sum.String()
	}
	v.lost = cmp.Or(v.lost, err)
	v.parent[h], v.Blobs = b.Parent, len(v.parent)+1
}

// erasures checks that sealed lines state what is left of lines and blobs of which bytes are gone.
func (v *verifier) erasures() error {
	v.Erased = len(v.left)
	byLength := func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) } // lines first, in order
	for _, what := range slices.SortedFunc(maps.Keys(v.left), byLength) {
		if v.sealed[what] == v.left[what] || len(what) == 64 && v.inherited(what, v.left[what]) {
			continue
		}
		if len(what) == 64 {
			return fmt.Errorf("blob %s has a tombstone, and no sealed line says that it was erased, and what was left", what)
		}
		return fmt.Errorf("the line at byte %s was altered, and no sealed line says that it was erased, and what was left", what)
	}
	return nil
}

// inherited reports whether a tombstone is that of a blob which a fork has taken over from its ancestor, whose log tells
// of it. Where that is not in this home, nobody knows, unless a line of the fork names the blob.
func (v *verifier) inherited(address, left string) bool {
	boot, err := life.First(v.id.LIFE())
	self, _, fork := strings.Cut(boot.Get("fork"), ":")
	if err != nil || !fork {
		return false
	}
	if v.before == nil {
		v.before = newVerifier(agent.Identity{Self: self, Dir: filepath.Join(filepath.Dir(v.id.Dir), self)}, VerifyOptions{})
		v.nobody = errors.Is(v.before.lines(nil), fs.ErrNotExist)
	}
	if v.nobody {
		h, _ := blobs.ParseHash(address)
		_, named := v.refs[h]
		return !named
	}
	return v.before.Fault == nil && v.before.sealed[address] == left || v.before.inherited(address, left)
}

// chain follows the parents from the newest blob down to the boot.
func (v *verifier) chain(store *blobs.Store) error {
	if v.Lines == 0 {
		return errors.New("LIFE has no lines")
	}
	h, err := store.Resolve(v.newest)
	linked := map[blobs.Hash]bool{}
	for v.lost = cmp.Or(v.lost, err); v.lost == nil && h.String() != v.id.Self; h = v.parent[h] {
		if h.IsZero() || linked[h] { // as tombstones could have it
			return errors.New("the parents of its newest blob do not lead to its boot")
		}
		if linked[h] = true; v.left[h.String()] != "" && v.parent[h].IsZero() { // nobody knows
			return nil
		}
		if _, ok := v.parent[h]; !ok {
			v.blob(store, h)
		}
	}
	if v.lost != nil {
		return fmt.Errorf("it refers to a blob that is missing or damaged: %w", v.lost)
	}
	linked[h] = true
	return v.bound(store, linked)
}

// bound checks that the blobs that seals name are linked, and with them those that lines name: an address of 64 digits
// stands for each, in a parent's place or in a snapshot.
func (v *verifier) bound(store *blobs.Store, linked map[blobs.Hash]bool) error {
	for last := range v.lasts {
		if h, err := blobs.ParseHash(last); err != nil || !linked[h] {
			return fmt.Errorf("a seal names the blob %s, and the parents of its newest blob do not lead there", last)
		}
	}
	maps.DeleteFunc(v.refs, func(h blobs.Hash, _ int64) bool { return linked[h] })
	for _, h := range v.epochs {
		if b, err := store.Get(h); err == nil && len(v.refs) > 0 && linked[h] {
			for _, m := range whole().FindAllSubmatch(b.Body, -1) {
				h, _ := blobs.ParseHash(string(m[1]))
				delete(v.refs, h)
			}
		}
	}
	for h, line := range v.refs {
		if len(v.lasts) > 0 {
			return fmt.Errorf("line %d names the blob %s, and nothing that is sealed has its whole address", line, h)
		}
	}
	return nil
}

// whole finds addresses in a snapshot.
var whole = lazy.Regexp(`"([0-9a-f]{64})"`)
