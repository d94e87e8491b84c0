package archive

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/cmd/lethe/check"
	"lethe/life"
	"lethe/mind"
)

// ReadOptions say what becomes of the life.
type ReadOptions struct {
	Name    string // instead of its own
	Restore bool   // it goes on here, since it does nowhere else
	Keys    []byte // a file of age identities
}

// Result describes the life that was taken in.
type Result struct {
	Manifest
	Identity home.Identity
	Verdict  check.Verdict
	Mirror   bool // the life goes on elsewhere
	Known    bool // the life came here with this archive before: nothing was changed

	Hired string // what people hired it for, or ""
}

// ErrImporting says that another process imports into this home, or moves away what nothing refers to.
var ErrImporting = errors.New("another import, or gc, is under way")

// importer takes in one archive.
type importer struct {
	Manifest
	ReadOptions
	home   home.Home
	store  *blobs.Store
	dir    *os.Root // where the life waits until it is whole and checked
	id     home.Identity
	staged *blobs.Store // in dir
	state  *mind.State
	here   home.Identity // where the life will be

	was   *mind.State     // of the life that is here; may be nil
	lives bool            // here
	seal  life.Checkpoint // its newest
	had   bool            // it has the lines of the archive
}

// Read takes in an archive. It refuses one that is damaged or contradicts the home, and leaves nothing of it.
func Read(in io.Reader, h home.Home, store *blobs.Store, o ReadOptions) (got Result, err error) {
	i := &importer{ReadOptions: o, home: h, store: store}
	dir := filepath.Join(h.Agents(), ".tmp-import")
	lock := flock.New(h.Blobs(), flock.SetFlag(os.O_RDONLY))
	defer lock.Close()
	free, err := lock.TryLock()
	if err != nil {
		return got, err
	}
	if !free {
		return got, ErrImporting
	}
	defer func() {
		if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
			err = fmt.Errorf("import: %w", err)
		}
	}()
	if err := os.RemoveAll(dir); err != nil { // what a killed import left
		return got, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return got, err
	}
	i.dir, err = os.OpenRoot(dir)
	if err != nil {
		return got, err
	}
	defer i.dir.Close()
	if err := damaged(i.unpack(in)); err != nil {
		return got, err
	}
	return i.take()
}

// take gives a place to the unpacked life, unless it is damaged or contradicts the home.
func (i *importer) take() (got Result, err error) {
	name := cmp.Or(i.ReadOptions.Name, i.Manifest.Name)
	if err := home.CheckName(name); err != nil {
		return got, err
	}
	dir := i.dir.Name()
	i.id = home.Identity{Self: i.Self, Name: name, Dir: dir}
	i.here = i.home.Identity(i.Self, name)
	i.staged, err = blobs.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		return got, err
	}
	held, err := i.meet()
	if held != nil {
		defer held.Close()
	}
	if err != nil {
		return got, err
	}
	verdict, err := i.check()
	if err != nil {
		return got, err
	}
	known := i.lives && i.isRepeated()
	got = Result{Manifest: i.Manifest, Identity: i.here, Verdict: verdict, Mirror: i.mirrored(), Known: known}
	if known {
		return got, nil
	}
	if i.lives {
		return got, fmt.Errorf("%s is here already, and lives here", i.here.Name)
	}
	if err := i.rehire(&got); err != nil {
		return got, err
	}
	return got, i.place()
}

// rehire has a life that was hired run with its role of this home, whatever came; where there is none, with what came,
// which only narrows, but for the model. A hired.toml that cannot be read stays: the life cannot run with it.
func (i *importer) rehire(got *Result) error {
	work, err := i.id.Hired()
	if work == nil || err != nil {
		return nil
	}
	role, err := config.ReadRole(i.home, work.Role)
	got.Hired = work.String()
	switch {
	case errors.Is(err, home.ErrNotFound):
		got.Hired += ", with the tools and dollars that came with it, since this home has no such role"
		work.With.Model = ""
		for _, usd := range []*float64{&work.With.Day, &work.With.Month} {
			if sane := *usd > 0 && *usd < 1e9; !sane { // what [hire] allows is their sum
				*usd = 0
			}
		}
	case err != nil:
		return err
	default:
		work.With = role.Role
	}
	return i.id.SetHired(*work)
}

// isRepeated reports whether the life came here with this archive before.
func (i *importer) isRepeated() bool {
	goesOn := i.had && !i.mirrored()
	return goesOn && i.state.Custody == i.was.Custody
}

// meet holds the life that is here already, if it is. What is taken in has to go on from there.
func (i *importer) meet() (*journal.Journal, error) {
	is, err := i.home.Find(i.Self)
	if _, there := os.Lstat(i.here.LIFE()); there != nil {
		other, err := i.home.Find(i.here.Name)
		if err == nil && other.Name == i.here.Name {
			return nil, fmt.Errorf("%s: %w", other.Name, home.ErrExists)
		}
		return nil, nil
	}
	if err == nil {
		_, err := os.Lstat(filepath.Join(i.home.Names(), is.Name))
		if err == nil { // a kill can leave it without a name
			i.here.Name, i.id.Name = is.Name, is.Name
		}
	}
	held, err := journal.HoldMoved(i.home, i.here, i.store)
	if err != nil {
		return nil, err
	}
	i.was = held.State
	i.lives = i.here.Elsewhere(i.was) == nil
	theirs, _ := life.ParseCheckpoint(i.checkpoint())
	verdict, err := check.Verify(i.here, i.store, check.VerifyOptions{Against: &theirs})
	i.seal, i.had = verdict.Checkpoint, verdict.Fault == nil
	return held, err
}

// checkpoint is the newest seal of its LIFE, as the archive says.
func (i *importer) checkpoint() string {
	text, _ := i.dir.ReadFile("CHECKPOINT")
	return string(text)
}

// mirrored reports whether the life will go on elsewhere.
func (i *importer) mirrored() bool { return !i.Restore && i.Kind != Move }

// check finds out whether the unpacked files are a life, and continue the life that is here.
func (i *importer) check() (verdict check.Verdict, err error) {
	var o check.VerifyOptions
	if i.was != nil && !i.lives {
		o.Against = &i.seal
	}
	verdict, err = check.Verify(i.id, i.staged, o)
	isOlder := verdict.Fault != nil && verdict.Sealed < i.seal.Size
	if o.Against != nil && isOlder {
		const older = "%s is here already, and the archive is older: it is sealed over %d lines, here %d are"
		return verdict, fmt.Errorf(older,
			i.here.Name, verdict.Sealed, i.seal.Size)
	}
	if err != nil {
		return verdict, damaged(err)
	}
	if verdict.Fault != nil {
		return verdict, damaged(verdict.Fault)
	}
	i.state, err = home.Fold(i.id, i.staged)
	if err != nil {
		return verdict, damaged(err)
	}
	endsSealed := verdict.Unsealed == 0 && verdict.Torn == 0
	agrees := i.checkpoint() == verdict.Checkpoint.String()
	handedOver := i.Kind != Move || i.state.Moved
	isWhole := endsSealed && agrees
	if !isWhole || !handedOver {
		return verdict, damaged(errors.New("its MANIFEST, CHECKPOINT and LIFE do not agree"))
	}
	return verdict, nil
}
