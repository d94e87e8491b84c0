// Package check finds files and lives that were altered, damaged or lost, and mends them where it can.
//
//	r, err := check.Home(home, store, check.Options{})              // the whole home; changes nothing
//	mended, left, err := check.Repair(home, store, check.Options{}) // while no identity runs
//	v, err := check.Verify(id, store, check.VerifyOptions{})        // was one life altered?
//	g, err := check.Collect(home, store, true)                      // moves what nothing refers to away
//
// Nothing is deleted: files in the way are moved to lost+found in the home.
package check

import (
	"cmp"
	"errors"
	"slices"
	"sort"
	"strings"
	"time"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/life"
)

// Levels of a finding.
const (
	Fault    = "fault"    // something is not as it was written
	Leftover = "leftover" // nothing is lost
)

// class is one sort of findings.
type class struct {
	Level  string `json:"level"`
	Kind   string `json:"kind"`
	Means  string `json:"means"`
	Repair string `json:"repair"` // what Repair does about it
}

var kinds = []class{
	{
		Fault, "damaged blob",
		"a stored text cannot be read",
		"moves the file to lost+found; then the blob is missing",
	},
	{
		Fault, "missing blob",
		"a life refers to a text that is not there; where its newest epoch needs the text, it does not start",
		"puts the same bytes back, if they are in lost+found, the room or the log; else a tombstone that says " +
			"that the text is lost, and the life goes on",
	},
	{
		Fault, "unrecorded loss",
		"a tombstone stands for a lost text, and the life does not know",
		"tells it, by a line of LIFE and a note",
	},
	{
		Fault, "damaged LIFE",
		"the lines before this place are sound; nothing proves what comes after it",
		"nothing, since no repair invents history: put LIFE.md back from a backup, or import an archive",
	},
	{
		Fault, "senseless line",
		"the line is as it was written, and does not follow from those before it",
		"nothing: report it as a bug of Lethe",
	},
	{
		Fault, "differing epoch",
		"a resume starts from another state than the lines make",
		"nothing: the life goes on from what is stored",
	},
	{
		Fault, "lost entry",
		"an entry is neither in the context nor in what has faded, or is there twice: an older program " +
			"dropped what had faded when a life went back",
		"nothing: lethe branch goes to an entry of the branch that was left, and back, and then all is there",
	},
	{
		Fault, "unfinished erasure",
		"what was to be erased may still be there; nobody is shown the life until it is not",
		"finishes it; so does whatever else opens the home",
	},
	{
		Fault, "altered life",
		"it is not what was sealed, or not by this home; see docs/check.md",
		"nothing: compare it with a checkpoint or an archive that is kept elsewhere",
	},
	{
		Fault, "wrong SOUL",
		"the identity does not start",
		"moves it to lost+found, and writes the soul of the boot blob",
	},
	{
		Fault, "damaged file",
		"what it held cannot be read",
		"moves it to lost+found; whoever needs it begins a new one",
	},
	{
		Fault, "wrong mode",
		"others may read or change it, or its owner may not",
		"restores the mode",
	},
	{
		Fault, "open key",
		"somebody may have read it, who can then alter lives of this home and seal them anew",
		"closes it. Keep checkpoints of today elsewhere (lethe check NAME --checkpoint), and move the lives " +
			"to a new home (lethe export, lethe import), which has a key of its own",
	},
	{
		Leftover, "no name",
		"the identity is found by its hash, and by the name in its log",
		"makes the link",
	},
	{
		Leftover, "stray file",
		"a crash, an editor or a person has left it; nothing reads it",
		"moves it to lost+found",
	},
	{
		Leftover, "torn end",
		"a crash cut the last write off; it never happened",
		"sets it aside beside the log, as the next start does",
	},
}

// Finding is something that is not as it should be.
type Finding struct {
	class
	Where string `json:"where"` // a path in the home; of LIFE.md with the number of the line
	What  string `json:"what"`

	fix func() error
}

// Report lists the findings of a check, and counts what was read.
type Report struct {
	Findings []Finding `json:"findings"` // faults first
	Faults   int       `json:"faults"`
	Proofs   []Verdict `json:"proofs"` // of the lives
	Lives    int       `json:"lives"`
	Lines    int       `json:"lines"` // of LIFE
	Blobs    int       `json:"blobs"`
	Bytes    int64     `json:"bytes"` // of their texts
}

// Options narrow a check.
type Options struct {
	Lives   []home.Identity                 // nil: all, and the files beside them
	Against *life.Checkpoint                // of the one life, kept elsewhere; may be nil
	Tell    func(blobs, of int, read int64) // is told how many blobs have been read; may be nil
}

// checker checks a home.
type checker struct {
	o     Options
	home  home.Home
	store *blobs.Store
	key   string // the home's public key
	began time.Time
	of    int                 // blobs in the store
	named map[blobs.Hash]bool // what lives refer to
	Report
}

// Home checks some lives and the blobs that they refer to, or the whole home. It changes nothing, and identities may
// run.
func Home(place home.Home, store *blobs.Store, options Options) (*Report, error) {
	c := &checker{o: options, home: place, store: store, key: "none", began: time.Now(), named: map[blobs.Hash]bool{}}
	c.Findings, c.Proofs = []Finding{}, []Verdict{}
	if key, err := life.ReadKey(place.Dir); err == nil {
		c.key = key.Public()
	}
	err := store.Each(func(blobs.Hash) error { c.of++; return nil })
	lives := options.Lives
	if options.Lives == nil {
		all, lerr := place.List()
		lives, err = all, errors.Join(err, lerr)
	}
	for _, id := range lives {
		if c.life(id); options.Lives != nil {
			err = errors.Join(err, c.files(id.Dir))
		}
	}
	if options.Lives == nil {
		err = errors.Join(err, c.unnamed(), c.files(place.Dir))
	}
	sort.SliceStable(c.Findings, func(i, j int) bool {
		a, b := c.Findings[i], c.Findings[j]
		return cmp.Or(strings.Compare(a.Level, b.Level), strings.Compare(a.Kind, b.Kind)) < 0
	})
	return &c.Report, err
}

// find notes a finding. fix may be nil.
func (c *checker) find(kind, path, what string, fix func() error) {
	found := kinds[slices.IndexFunc(kinds, func(class class) bool { return class.Kind == kind })]
	c.Findings = append(c.Findings, Finding{found, strings.TrimPrefix(path, c.home.Dir+"/"), what, fix})
	if found.Level == Fault {
		c.Faults++
	}
}

// count counts a blob that was read.
func (c *checker) count(blob blobs.Blob) {
	if c.named[blob.Hash] {
		return
	}
	c.named[blob.Hash] = true
	c.Blobs, c.Bytes = c.Blobs+1, c.Bytes+int64(len(blob.Body))
	if c.o.Tell != nil {
		c.o.Tell(c.Blobs, c.of, c.Bytes)
	}
}

// unnamed reads the blobs that no life names. A damaged blob that no room names either is a stray file: a power loss
// kept it and not its line.
func (c *checker) unnamed() error {
	heard := map[blobs.Hash]bool{}
	err := mentioned(c.home, c.store, heard)
	return errors.Join(err, c.store.Each(func(hash blobs.Hash) error {
		if c.named[hash] {
			return nil
		}
		blob, err := c.store.Get(hash)
		kind, path := "stray file", c.store.Path(hash)
		if heard[hash] {
			kind = "damaged blob"
		}
		if err == nil {
			c.count(blob)
		} else if !errors.Is(err, blobs.ErrNotFound) { // erased or moved since it was listed
			c.find(kind, path, err.Error(), func() error { return c.aside(path) })
		}
		return nil
	}))
}

// aside moves a file to lost+found.
func (c *checker) aside(path string) error {
	return moveAside(c.home, path, c.began.UTC().Format("20060102T150405.000000Z"))
}
