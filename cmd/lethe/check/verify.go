package check

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"time"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// VerifyOptions say against which checkpoint and key a life is held.
type VerifyOptions struct {
	Against *life.Checkpoint // kept elsewhere; may be nil
	// Key is the public key of the home. While the life goes on here, its newest seal has to be by this key; "" takes
	// any.
	Key string
}

// Verdict says whether a life was altered, and what it refers to.
type Verdict struct {
	Name       string          `json:"name"`
	Self       string          `json:"self"`
	Lines      int64           `json:"lines"`          // of LIFE, up to a fault in a line
	Seals      int64           `json:"seals"`          // that hold
	Signer     string          `json:"key,omitempty"`  // the public key of the newest seal
	Checkpoint life.Checkpoint `json:"checkpoint"`     // that it states; its Size counts the sealed lines
	Torn       int64           `json:"torn,omitempty"` // bytes of a torn end, or that somebody made look so
	Erased     int             `json:"erased"`         // lines and blobs with bytes that are gone, as sealed lines say
	Blobs      int             `json:"blobs"`          // that the life refers to
	Sealed     int64           `json:"sealed"`         // lines before the newest seal
	Unsealed   int64           `json:"unsealed"`       // lines behind it
	Own        bool            `json:"own"`            // the newest seal is by this home's key
	Mirror     bool            `json:"mirror,omitempty"`
	Fault      error           `json:"-"` // the first; nil if the life was not altered
	Altered    string          `json:"fault,omitempty"`

	Reach *home.Reach `json:"-"`
	// End is the offset in LIFE behind the newest seal, and Archived the number of blobs that lines before it name.
	End      int64 `json:"-"`
	Archived int   `json:"-"`
}

// verifier reads one life. It knows an erased line by its offset, and a blob by its address.
type verifier struct {
	*blobs.Store
	VerifyOptions
	Verdict
	id home.Identity
	f  *folder // that folds the life meanwhile; may be nil

	damaged bool      // LIFE has a line that is not as it was written
	behind  life.Mark // the line that was read last
	tree    life.Tree
	next    string                 // the key that seals from here on; "" takes any
	same    bool                   // these lines have the root of Against
	signed  bool                   // a key that seals this life has signed Against
	erased  map[int64]life.Erasure // lines, by LIFE.erased
	left    map[string]string      // hashes of tombstones and erased lines
	sealed  map[string]string      // the same as lines state it, of appends that end with a seal
	last    life.Append            // the part that was read
	newest  blobs.Hash             // blob that a line names
	lasts   map[blobs.Hash]bool    // the newest blobs, as seals name them
	lost    []blobs.Hash           // blobs that could not be read
	tombs   []blobs.Hash           // of lost texts

	named     map[blobs.Hash]bool          // by lines
	ancestors map[string]map[string]string // what each has sealed; nil for a missing life
}

func newVerifier(id home.Identity, store *blobs.Store, o VerifyOptions) *verifier {
	v := &verifier{
		Store: store, VerifyOptions: o, Verdict: Verdict{Name: id.Name, Self: id.Self, Mirror: id.Mirrored()}, id: id,
		left: map[string]string{}, sealed: map[string]string{}, lasts: map[blobs.Hash]bool{},
		named: map[blobs.Hash]bool{}, ancestors: map[string]map[string]string{},
	}
	v.Reach = home.NewReach(store, id.Self)
	v.Reach.OnFound, v.Reach.OnMiss = v.found, v.missed
	return v
}

// Verify finds out whether a life was altered. It checks the checksum of each line and each seal, that sealed lines
// tell of each erasure, and that the blobs are there, down to the boot. It changes nothing, and the life may run. An
// error says that it could not find out.
func Verify(id home.Identity, store *blobs.Store, o VerifyOptions) (Verdict, error) {
	v := newVerifier(id, store, o)
	err := v.verify()
	return v.Verdict, err
}

func (v *verifier) verify() error {
	err := v.lines()
	v.Sealed, v.Own = v.Checkpoint.Size, v.Signer == v.Key
	v.Unsealed = v.Lines - v.Sealed - min(v.Seals, 1)
	if bad, ok := errors.AsType[*life.CorruptError](err); ok {
		v.damaged, v.Reach.Unknown, err = true, err, nil
		v.Fault = fmt.Errorf("line %d, at byte %d: %s", v.Lines+1, bad.Offset, bad.Why)
	}
	switch {
	case err != nil:
	case v.Fault == nil:
		v.Fault = v.fault()
	default:
		_ = v.chain() // reaches blobs that the life refers to, whatever its fault is
	}
	if v.Fault != nil {
		v.Altered = v.Fault.Error()
	}
	v.Blobs = len(v.Reach.Found)
	return err
}

// fault returns the first fault of a life with lines and seals that hold. It looks for all faults, since the Verdict
// shows other findings, too.
func (v *verifier) fault() error {
	for _, fault := range []error{v.signer(), v.against(), v.erasures(), v.chain()} {
		if fault != nil {
			return fault
		}
	}
	return nil
}

// lines goes through LIFE, up to a line with a checksum that does not fit: that fault comes before a seal that does not
// hold.
func (v *verifier) lines() (err error) {
	if v.erased, err = life.ReadErased(v.id.LIFE()); err != nil {
		return err
	}
	log, err := life.ReadFrom(v.id.LIFE(), life.Mark{})
	if err != nil {
		return err
	}
	defer log.Close()
	log.Until(v.end())
	for {
		line, follows, err := log.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		at := v.behind.Offset
		v.behind = log.At
		v.Torn = max(0, log.Size-log.At.Offset)
		v.Lines++
		v.last.Add(line, follows)
		if seal, ok := event.As[event.Sealed](line); ok {
			if err := v.seal(seal); err != nil && v.Fault == nil {
				v.Fault = fmt.Errorf("line %d, at byte %d: %w", v.Lines, at, err)
				if !errors.As(err, new(otherKey)) { // lines that are gone may have named blobs
					v.Reach.Unknown = v.Fault
				}
			}
		}
		leaf := life.Leaf(log.Line)
		if erasure, ok := v.erased[at]; ok && erasure.Now == leaf {
			v.left[fmt.Sprint(at)] = fmt.Sprintf("%x:%x", erasure.Before, erasure.Now)
			leaf = erasure.Before
		}
		v.tree.Add(leaf)
		if against := v.Against; against != nil && against.Size == v.tree.Size {
			v.same = against.Root == v.tree.Root()
		}
		v.refers(line)
	}
}

// refers takes in the texts that a line refers to.
func (v *verifier) refers(line life.Event) {
	texts := v.Reach.Refs(line)
	if v.f != nil {
		v.f.line(line, texts)
	}
	for _, text := range texts {
		if line.Get("rel") == "" { // else it is older; what a fade names is nothing without the epoch behind it
			v.newest, v.named[text.Hash] = text.Hash, true
		}
	}
	v.Reach.Line(line, texts)
}

// found notes a blob that the life refers to.
func (v *verifier) found(blob blobs.Blob) {
	if v.f != nil {
		v.f.count(blob)
	}
	if blob.Gone == nil {
		return
	}
	v.left[blob.Hash.String()] = blob.Gone.Sum.String()
	if blob.Gone.Why == blobs.Lost {
		v.tombs = append(v.tombs, blob.Hash)
	}
}

// missed notes a blob that is missing or damaged.
func (v *verifier) missed(hash blobs.Hash, err error) {
	v.lost = append(v.lost, hash)
	if v.f != nil {
		m := blobs.Meta{At: time.Unix(0, 0), Gist: "lost", Life: v.Self}
		v.f.miss(hash, m, mind.Answer{Text: LostText}.Encode(), err.Error())
	}
}

// end finds the end of the log, before a torn end. It does not know the end of a damaged log: a reader meets the
// damage.
func (v *verifier) end() int64 {
	log, err := home.View(v.id, v.Store)
	if err != nil {
		return math.MaxInt64
	}
	defer log.Close()
	return log.Size()
}

// otherKey is the fault of a seal of these lines by another key than the one before. The lines are as it sealed them.
type otherKey string

func (lines otherKey) Error() string {
	return fmt.Sprintf("this seal is by another key than the one before, and no line says that another home "+
		"received the life: %s may be anybody's", string(lines))
}

func (v *verifier) seal(e event.Sealed) error {
	checkpoint := life.Checkpoint{
		Self: v.id.Self, Size: v.tree.Size, Root: v.tree.Root(), Last: e.Last, Sig: life.ParseBase64(e.Sig),
	}
	lines := fmt.Sprintf("lines %d to %d", v.Checkpoint.Size+1, checkpoint.Size)
	isOtherKey := v.next != "" && v.next != e.Key
	received := slices.ContainsFunc(v.last, func(line life.Event) bool { // its home has written the line and the seal
		return line.Kind == "received" && line.Get("key") == e.Key
	})
	switch {
	case e.Size != checkpoint.Size || e.Root != life.Base64(checkpoint.Root[:]):
		return fmt.Errorf("this seal is of other lines: of %s at least one was altered, added or left out", lines)
	case checkpoint.Verify(e.Key) != nil:
		return fmt.Errorf("this seal has no signature of the key that it names: %s may be anybody's", lines)
	case isOtherKey && !received:
		return otherKey(lines)
	}
	v.Seals++
	v.Checkpoint, v.Signer, v.next = checkpoint, e.Key, e.Key
	v.End, v.Archived = v.behind.Offset, len(v.Reach.Found)
	for _, line := range v.last { // the hashes of erased lines and tombstones
		e, _ := event.As[event.Erased](line)
		for _, changed := range e.Lines {
			v.sealed[fmt.Sprint(changed.Offset)] = changed.Leaf + ":" + changed.Now
		}
		for _, blob := range e.Blobs {
			v.sealed[blob.Address] = blob.Tombstone
		}
	}
	v.sealedLast(e.Last)
	if v.Against != nil && v.Against.Verify(e.Key) == nil {
		v.signed = true
	}
	return nil
}

// sealedLast notes the newest blob at a seal. Seals of older programs do not name it.
func (v *verifier) sealedLast(address string) {
	if address != "" {
		h, _ := blobs.ParseHash(address)
		v.lasts[h] = true
	}
}

// signer checks the key of the newest seal.
func (v *verifier) signer() error {
	sealsHere := !v.Mirror && v.Seals > 0
	isKeyRight := v.Key == "" || v.Key == v.Signer
	if !sealsHere || isKeyRight {
		return nil
	}
	return fmt.Errorf("its newest seal is by the key %s, which is not this home's", v.Signer)
}

// against compares the life with the checkpoint that was kept.
func (v *verifier) against() error {
	switch checkpoint := v.Against; {
	case checkpoint == nil:
		return nil
	case v.same && v.signed:
		v.sealedLast(checkpoint.Last)
		return nil
	case checkpoint.Size > v.tree.Size:
		return fmt.Errorf("it has %d lines, and the checkpoint is of %d: LIFE was cut back", v.tree.Size, checkpoint.Size)
	case !v.same:
		return fmt.Errorf("lines 1 to %d are not those of the checkpoint: they were altered and sealed anew", checkpoint.Size)
	}
	return errors.New("the checkpoint is not signed by a key that seals this life")
}

// erasures checks that sealed lines have the hashes of erased lines and of tombstones.
func (v *verifier) erasures() error {
	v.Erased = len(v.left)
	for _, what := range slices.Sorted(maps.Keys(v.left)) {
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

// inherited reports whether the log of a fork's ancestor states a tombstone. A missing ancestor may have stated any,
// unless a line of the fork names the blob.
func (v *verifier) inherited(address blobs.Hash, left string) bool {
	for self := range v.Reach.Lives {
		stated, asked := v.ancestors[self]
		if self == v.Self {
			continue
		}
		if !asked {
			dir := filepath.Join(filepath.Dir(v.id.Dir), self)
			ancestor := newVerifier(home.Identity{Self: self, Dir: dir}, v.Store, VerifyOptions{})
			if err := ancestor.verify(); !errors.Is(err, fs.ErrNotExist) {
				stated = ancestor.sealed
			}
			v.ancestors[self] = stated
		}
		mayBeMissing := stated == nil && !v.named[address]
		if mayBeMissing || stated[address.String()] == left {
			return true
		}
	}
	return false
}

// chain follows the parents from the newest blob down to the boot.
func (v *verifier) chain() error {
	if v.Lines == 0 {
		return errors.New("LIFE has no lines")
	}
	linked := map[blobs.Hash]bool{}
	hash := v.newest
	for ; v.Reach.Unknown == nil && hash.String() != v.id.Self; hash = v.Reach.Parent[hash] {
		if hash.IsZero() || linked[hash] { // as tombstones could have it
			return errors.New("the parents of its newest blob do not lead to its boot")
		}
		linked[hash] = true
		v.Reach.Visit(hash)
		if v.left[hash.String()] != "" && v.Reach.Parent[hash].IsZero() { // nobody knows
			return nil
		}
	}
	if v.Reach.Unknown != nil {
		return fmt.Errorf("it refers to a blob that is missing or damaged: %w", v.Reach.Unknown)
	}
	linked[hash] = true
	for last := range v.lasts {
		if !linked[last] {
			return fmt.Errorf("a seal names the blob %s, and the parents of its newest blob do not lead there", last)
		}
	}
	return nil
}
