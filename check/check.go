// Package check finds what was altered, damaged or lost on the disk, and mends it where it can.
//
//	r, err := check.Home(home, store, check.Options{})              // the whole home; changes nothing
//	mended, left, err := check.Repair(home, store, check.Options{}) // while no identity runs
//	v, err := check.Verify(id, store, check.VerifyOptions{})        // was one life altered?
//	g, err := check.Collect(home, store, true)                      // moves what nothing refers to away
//
// Nothing is deleted: what is in the way is moved to lost+found in the home.
package check

import (
	"errors"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"lethe/blobs"
	"lethe/home"
	"lethe/proof"
)

// Levels of a finding.
const (
	Fault    = "fault"    // something is not as it was written
	Leftover = "leftover" // nothing is lost
)

// Finding is something that is not as it should be.
type Finding struct {
	Level  string `json:"level"`
	Kind   string `json:"kind"`
	Where  string `json:"where"` // a path in the home; of LIFE.md with the number of the line
	What   string `json:"what"`
	Means  string `json:"means"`
	Repair string `json:"repair"` // what Repair does about it

	fix func() error
}

// kinds are the findings that there are.
var kinds = []Finding{
	{
		Level: Fault, Kind: "damaged blob",
		Means:  "a stored text cannot be read",
		Repair: "moves the file to lost+found; then the blob is missing",
	},
	{
		Level: Fault, Kind: "missing blob",
		Means: "a life refers to a text that is not there; where its newest epoch needs the text, it does not start",
		Repair: "puts the same bytes back, if they are in lost+found, the room or the log; else a tombstone that says " +
			"that the text is lost, and the life goes on",
	},
	{
		Level: Fault, Kind: "unrecorded loss",
		Means:  "a tombstone stands for a lost text, and the life does not know",
		Repair: "tells it, by a line of LIFE and a note",
	},
	{
		Level: Fault, Kind: "damaged LIFE",
		Means:  "the lines before this place are sound; nothing proves what comes after it",
		Repair: "nothing, since no repair invents history: put LIFE.md back from a backup, or import an archive",
	},
	{
		Level: Fault, Kind: "senseless line",
		Means:  "the line is as it was written, and does not follow from those before it",
		Repair: "nothing: report it as a bug of Lethe",
	},
	{
		Level: Fault, Kind: "differing epoch",
		Means:  "a resume starts from another state than the lines make",
		Repair: "nothing: the life goes on from what is stored",
	},
	{
		Level: Fault, Kind: "lost entry",
		Means: "an entry is neither in the context nor in what has faded, or is there twice: an older program " +
			"dropped what had faded when a life went back",
		Repair: "nothing: lethe branch goes to an entry of the branch that was left, and back, and then all is there",
	},
	{
		Level: Fault, Kind: "unfinished erasure",
		Means:  "what was to be erased may still be there; nobody is shown the life until it is not",
		Repair: "finishes it; so does whatever else opens the home",
	},
	{
		Level: Fault, Kind: "altered life",
		Means:  "it is not what was sealed, or not by this home; see docs/proof.md",
		Repair: "nothing: compare it with a checkpoint or an archive that is kept elsewhere",
	},
	{
		Level: Fault, Kind: "wrong SOUL",
		Means:  "the identity does not start",
		Repair: "moves it to lost+found, and writes the soul of the boot blob",
	},
	{
		Level: Fault, Kind: "damaged file",
		Means:  "what it held cannot be read",
		Repair: "moves it to lost+found; whoever needs it begins a new one",
	},
	{
		Level: Fault, Kind: "wrong mode",
		Means:  "others may read or change it, or its owner may not",
		Repair: "restores the mode",
	},
	{
		Level: Fault, Kind: "open key",
		Means: "somebody may have read it, who can then alter lives of this home and seal them anew",
		Repair: "closes it. Keep checkpoints of today elsewhere (lethe check NAME --checkpoint), and move the lives " +
			"to a new home (lethe export, lethe import), which has a key of its own",
	},
	{
		Level: Leftover, Kind: "no name",
		Means:  "the identity is found by its hash, and by the name in its log",
		Repair: "makes the link",
	},
	{
		Level: Leftover, Kind: "stray file",
		Means:  "a crash, an editor or a person has left it; nothing reads it",
		Repair: "moves it to lost+found",
	},
	{
		Level: Leftover, Kind: "torn end",
		Means:  "a crash cut the last write off; it never happened",
		Repair: "sets it aside beside the log, as the next start does",
	},
	{
		Level: Leftover, Kind: "changed room",
		Means:  "somebody has edited what was heard; a life hears on from the last of its lines that is still there",
		Repair: "nothing",
	},
}

// Report lists the findings of a check, and counts what was read.
type Report struct {
	Findings []Finding `json:"findings"` // faults first
	Faults   int       `json:"faults"`
	Proofs   []Verdict `json:"proofs"` // of the lives
	Lives    int       `json:"lives"`
	Lines    int       `json:"lines"` // of LIFE
	Blobs    int       `json:"blobs"`
	Bytes    int64     `json:"bytes"` // of blobs
}

// Options say what of a home is checked.
type Options struct {
	Lives   []home.Identity                  // nil: all, and the files beside them
	Against *proof.Checkpoint                // one that was kept elsewhere, of the one life; may be nil
	Tell    func(blobs, of int, bytes int64) // is told how many blobs have been read; may be nil
}

// checker checks a home.
type checker struct {
	o     Options
	home  home.Home
	all   listing
	key   string // the home's public one
	began time.Time
	named map[blobs.Hash]bool // what lives refer to
	Report
}

// Home checks some lives and the blobs that they refer to, or the whole home. It changes nothing, and identities may
// run.
func Home(h home.Home, store *blobs.Store, o Options) (*Report, error) {
	all, err := list(store)
	if err != nil {
		return nil, err
	}
	c := &checker{o: o, home: h, all: all, key: "none", began: time.Now(), named: map[blobs.Hash]bool{}}
	c.Findings, c.Proofs = []Finding{}, []Verdict{}
	if key, err := proof.ReadKey(h.Dir); err == nil {
		c.key = key.Public()
	}
	lives, dirs, of := o.Lives, []string{h.Dir}, all.sorted
	if lives == nil {
		lives, err = h.List()
	}
	for _, id := range lives {
		err = errors.Join(err, c.life(id))
	}
	if o.Lives != nil {
		of, dirs = slices.Collect(maps.Keys(c.named)), nil
		for _, id := range lives {
			dirs = append(dirs, id.Dir)
		}
	}
	err = errors.Join(err, c.blobs(of))
	for _, dir := range dirs {
		err = errors.Join(err, c.files(dir))
	}
	slices.SortStableFunc(c.Findings, func(a, b Finding) int { return strings.Compare(a.Level, b.Level) })
	return &c.Report, err
}

// find notes a finding. fix may be nil.
func (c *checker) find(kind, path, what string, fix func() error) {
	f := kinds[slices.IndexFunc(kinds, func(k Finding) bool { return k.Kind == kind })]
	f.Where, f.What, f.fix = strings.TrimPrefix(path, c.home.Dir+"/"), what, fix
	c.Findings = append(c.Findings, f)
	if f.Level == Fault {
		c.Faults++
	}
}

// blobs holds files against their names, as many at once as there are processors. A damaged one that nothing names is
// what a power loss has left of a text whose line never came.
func (c *checker) blobs(of []blobs.Hash) error {
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	var mu sync.Mutex // guards damaged and the checker
	damaged := map[blobs.Hash]error{}
	for part := range slices.Chunk(of, 64) {
		g.Go(func() error {
			for _, h := range part {
				_, err := c.all.Get(h)
				path := c.all.Path(h)
				fi, missing := os.Lstat(path)
				if missing != nil { // erased or moved since it was listed; whoever refers to it misses it
					continue
				}
				mu.Lock()
				if err != nil {
					damaged[h] = err
				}
				c.Blobs, c.Bytes = c.Blobs+1, c.Bytes+fi.Size()
				if c.o.Tell != nil {
					c.o.Tell(c.Blobs, len(of), c.Bytes)
				}
				mu.Unlock()
			}
			return nil
		})
	}
	err := g.Wait()
	if len(damaged) > 0 {
		err = errors.Join(err, c.all.mentioned(c.home, c.named))
	}
	others := c.Findings
	c.Findings = []Finding{} // first what is in the way of mending others
	for _, h := range slices.SortedFunc(maps.Keys(damaged), compare) {
		kind, path := "damaged blob", c.all.Path(h)
		if !c.named[h] {
			kind = "stray file"
		}
		c.find(kind, path, damaged[h].Error(), func() error { return c.aside(path) })
	}
	c.Findings = append(c.Findings, others...)
	return err
}

// aside moves a file to lost+found.
func (c *checker) aside(path string) error {
	return moveAside(c.home, path, c.began.UTC().Format("20060102T150405.000000Z"))
}
