package check

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/home"
	"lethe/internal/lazy"
	"lethe/life"
	"lethe/life/event"
	"lethe/proof"
)

// VerifyOptions say against which checkpoint and key a life is held.
type VerifyOptions struct {
	Against *proof.Checkpoint // one that was kept elsewhere; may be nil
	// Key is the home's public key, by which the newest seal has to be while the life goes on here; "" takes any.
	Key string
}

// Verdict says whether a life was altered.
type Verdict struct {
	Name       string           `json:"name"`
	Self       string           `json:"self"`
	Lines      int64            `json:"lines"`          // of LIFE, up to the fault if that is one of them
	Seals      int64            `json:"seals"`          // that hold
	Signer     string           `json:"key,omitempty"`  // the public key of the newest of them
	Checkpoint proof.Checkpoint `json:"checkpoint"`     // that it states; its Size counts the sealed lines
	Torn       int64            `json:"torn,omitempty"` // bytes of a torn end, or that somebody made look so
	Erased     int              `json:"erased"`         // lines and blobs of which bytes are gone, as sealed lines say
	Blobs      int              `json:"blobs"`          // that the life refers to
	Sealed     int64            `json:"sealed"`         // lines before the newest seal
	Unsealed   int64            `json:"unsealed"`       // lines behind it
	Own        bool             `json:"own"`            // the newest seal is by this home's key
	Fault      error            `json:"-"`              // the first; nil if the life was not altered
	Altered    string           `json:"fault,omitempty"`
}

// verifier reads one life. It knows a line of which bytes are gone by its offset, and a blob by its address.
type verifier struct {
	*reacher
	VerifyOptions
	Verdict

	damaged bool      // LIFE has a line that is not as it was written
	behind  life.Mark // the line that was read last
	tree    proof.Tree
	next    string                    // the key that seals from here on; "" takes any
	same    bool                      // the root of Against is that of these lines
	signed  bool                      // a key that seals this life has signed Against
	erased  map[int64]life.Erasure    // lines, by LIFE.erased
	left    map[string]string         // hashes of what stands in the place of what is gone
	sealed  map[string]string         // the same as lines state it, of appends that end with a seal
	last    life.Append               // as far as it was read
	parent  map[blobs.Hash]blobs.Hash // of each blob
	newest  string                    // blob, as a line names it
	lasts   map[string]bool           // the newest blobs, as seals name them
	refs    map[blobs.Hash]int64      // the line that first names a blob by the beginning of its address
	epochs  []blobs.Hash              // snapshots
	lost    error                     // the first blob that is missing or damaged
	tombs   []blobs.Hash              // of lost texts

	ancestor *verifier // of a fork, as far as its lines tell of what was erased
	unknown  bool      // that ancestor is not in this home
}

func newVerifier(id home.Identity, all listing, o VerifyOptions) *verifier {
	v := &verifier{
		VerifyOptions: o, Verdict: Verdict{Name: id.Name, Self: id.Self},
		left: map[string]string{}, sealed: map[string]string{}, lasts: map[string]bool{},
		parent: map[blobs.Hash]blobs.Hash{}, refs: map[blobs.Hash]int64{},
	}
	v.reacher = newReacher(id, all, v.blob)
	v.miss = func(_ blobs.Hash, err error) { v.lost = cmp.Or(v.lost, err) }
	return v
}

// Verify finds out whether a life was altered: it checks the checksum of each line, each seal, that
// sealed lines tell of what was erased, and that the blobs are there, down to the boot. It changes
// nothing, and the life may run. An error says that it could not find out.
func Verify(id home.Identity, store *blobs.Store, o VerifyOptions) (Verdict, error) {
	all, err := list(store)
	if err != nil {
		return Verdict{}, err
	}
	v := newVerifier(id, all, o)
	err = v.verify(func(life.Event) {})
	return v.Verdict, err
}

// verify judges the life; each sees its lines, before what they refer to is reached.
func (v *verifier) verify(each func(life.Event)) error {
	err := v.lines(each)
	v.Sealed, v.Own = v.Checkpoint.Size, v.Signer == v.Key
	v.Unsealed = v.Lines - v.Sealed - min(v.Seals, 1)
	if bad, ok := errors.AsType[*life.CorruptError](err); ok {
		v.damaged, err = true, nil
		v.Fault = fmt.Errorf("line %d, at byte %d: %s", v.Lines+1, bad.Offset, bad.Why)
	}
	if err == nil && v.Fault == nil {
		v.Fault = cmp.Or(v.signer(), v.against(), v.erasures(), v.chain())
	}
	if v.Fault != nil {
		v.Altered = v.Fault.Error()
	}
	return err
}

// lines goes through LIFE. A line whose checksum does not fit ends it: it comes before a seal that does not hold.
func (v *verifier) lines(each func(life.Event)) (err error) {
	if v.erased, err = life.ReadErased(v.id.LIFE()); err != nil {
		return err
	}
	v.compare()
	return v.read(math.MaxInt64, func(log *life.Reader, line life.Event, follows bool) error {
		at := v.behind.Offset
		v.behind = log.At
		v.Torn = max(0, log.Size-log.At.Offset)
		v.Lines++
		v.last.Add(line, follows)
		if err := v.line(line); err != nil && v.Fault == nil {
			v.Fault = fmt.Errorf("line %d, at byte %d: %w", v.Lines, at, err)
		}
		leaf := life.Leaf(log.Line)
		if e, ok := v.erased[at]; ok && e.Now == leaf {
			v.left[fmt.Sprint(at)] = fmt.Sprintf("%x:%x", e.Before, e.Now)
			leaf = e.Before
		}
		v.tree.Add(leaf)
		v.compare()
		each(line)
		return nil
	})
}

// compare notes whether the lines read so far have the root of the checkpoint that was kept.
func (v *verifier) compare() {
	a := v.Against
	v.same = v.same || a != nil && a.Size == v.tree.Size && a.Root == v.tree.Root()
}

// line takes in what a line says about the log and its blobs. The blobs of a fade are nothing without the epoch behind
// it.
func (v *verifier) line(line life.Event) error {
	for i, ref := range line.Refs {
		h, err := v.find(ref.Hash)
		if line.Kind == life.Epoch {
			v.epochs = append(v.epochs, h)
		}
		if line.Kind == "fade" {
			continue
		}
		if i == len(line.Refs)-1 {
			v.newest = ref.Hash
		}
		if _, known := v.refs[h]; err == nil && !known {
			v.refs[h] = v.Lines
		}
	}
	if line.Kind != life.Sealed {
		return nil
	}
	e, err := event.Parse(line)
	if err != nil {
		return err
	}
	return v.seal(e.(event.Sealed))
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
		return fmt.Errorf("this seal is by another key than the one before, and no line says that another home "+
			"received the life: %s may be anybody's", lines)
	}
	v.Seals++
	v.Checkpoint, v.Signer, v.next = c, e.Key, e.Key
	for _, line := range v.last {
		stated(line, v.sealed)
	}
	if e.Last != "" { // seals of older programs have none
		v.lasts[e.Last] = true
	}
	v.signed = v.signed || v.Against != nil && v.Against.Verify(e.Key) == nil
	return nil
}

// stated takes in what a line says is left of lines and blobs of which bytes are gone.
func stated(line life.Event, left map[string]string) {
	e, _ := event.As[event.Erased](line)
	for _, l := range e.Lines {
		left[fmt.Sprint(l.Offset)] = l.Leaf + ":" + l.Now
	}
	for _, b := range e.Blobs {
		left[b.Address] = b.Tombstone
	}
}

// blob takes in a blob that the life refers to.
func (v *verifier) blob(h blobs.Hash) error {
	b, err := v.Get(h)
	if err == nil && b.Gone != nil {
		v.left[h.String()] = b.Gone.Sum.String()
		if b.Gone.Why == blobs.Lost {
			v.tombs = append(v.tombs, h)
		}
	}
	v.lost = cmp.Or(v.lost, err)
	v.parent[h] = b.Parent
	v.Blobs = len(v.parent)
	return nil
}

// signer checks whose the newest seal is.
func (v *verifier) signer() error {
	_, err := os.Lstat(filepath.Join(v.id.Dir, "mirror"))
	if err == nil || v.Seals == 0 || v.Key == "" || v.Key == v.Signer {
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

// erasures checks that sealed lines state what is left of lines and blobs of which bytes are gone.
func (v *verifier) erasures() error {
	v.Erased = len(v.left)
	linesFirst := func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
	for _, what := range slices.SortedFunc(maps.Keys(v.left), linesFirst) {
		address, err := blobs.ParseHash(what)
		switch left := v.left[what]; {
		case v.sealed[what] == left:
		case err != nil:
			return fmt.Errorf("the line at byte %s was altered, and no sealed line says "+
				"that it was erased, and what was left", what)
		case !v.inherited(address, left):
			return fmt.Errorf("blob %s has a tombstone, and no sealed line says "+
				"that it was erased, and what was left", what)
		}
	}
	return nil
}

// inherited reports whether the log of a fork's ancestor states a tombstone. Of an ancestor that is not in this home
// nobody knows, unless a line of the fork names the blob.
func (v *verifier) inherited(address blobs.Hash, left string) bool {
	boot, err := life.First(v.id.LIFE())
	self, _, fork := strings.Cut(boot.Get("fork"), ":")
	if err != nil || !fork {
		return false
	}
	if v.ancestor == nil {
		id := home.Identity{Self: self, Dir: filepath.Join(filepath.Dir(v.id.Dir), self)}
		v.ancestor = newVerifier(id, v.listing, VerifyOptions{})
		v.ancestor.f = nil
		v.unknown = errors.Is(v.ancestor.lines(func(life.Event) {}), fs.ErrNotExist)
	}
	if v.unknown {
		_, named := v.refs[address]
		return !named
	}
	a := v.ancestor
	return a.Fault == nil && a.sealed[address.String()] == left || a.inherited(address, left)
}

// chain follows the parents from the newest blob down to the boot.
func (v *verifier) chain() error {
	if v.Lines == 0 {
		return errors.New("LIFE has no lines")
	}
	h, err := v.Resolve(v.newest)
	linked := map[blobs.Hash]bool{}
	for v.lost = cmp.Or(v.lost, err); v.lost == nil && h.String() != v.id.Self; h = v.parent[h] {
		if h.IsZero() || linked[h] { // as tombstones could have it
			return errors.New("the parents of its newest blob do not lead to its boot")
		}
		linked[h] = true
		if v.left[h.String()] != "" && v.parent[h].IsZero() { // nobody knows
			return nil
		}
		if _, ok := v.parent[h]; !ok {
			_ = v.blob(h)
		}
	}
	if v.lost != nil {
		return fmt.Errorf("it refers to a blob that is missing or damaged: %w", v.lost)
	}
	linked[h] = true
	return v.bound(linked)
}

// bound checks that the blobs that seals name are linked, and with them those that lines name: an address of 64 digits
// stands for each, in a parent's place or in a snapshot.
func (v *verifier) bound(linked map[blobs.Hash]bool) error {
	for last := range v.lasts {
		if h, err := blobs.ParseHash(last); err != nil || !linked[h] {
			return fmt.Errorf("a seal names the blob %s, and the parents of its newest blob do not lead there", last)
		}
	}
	maps.DeleteFunc(v.refs, func(h blobs.Hash, _ int64) bool { return linked[h] })
	for _, h := range v.epochs {
		if b, err := v.Get(h); err == nil && len(v.refs) > 0 && linked[h] {
			for _, named := range wholeNames(b) {
				delete(v.refs, named)
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

var wholeName = lazy.Regexp(`"([0-9a-f]{64})"`)

// wholeNames are the addresses in a snapshot.
func wholeNames(b blobs.Blob) (names []blobs.Hash) {
	for _, m := range wholeName().FindAllSubmatch(b.Body, -1) {
		h, _ := blobs.ParseHash(string(m[1]))
		names = append(names, h)
	}
	return names
}
