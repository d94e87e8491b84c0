package check

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"lethe/agent"
	"lethe/blobs"
	"lethe/life"
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
	{Fault, "damaged blob", "", "", "a stored text cannot be read", "moves the file to lost+found; then the blob is missing", nil},
	{Fault, "missing blob", "", "", "a life refers to a text that is not there; where its newest epoch needs the text, it does not start", "puts the same bytes back, if they are in lost+found, the room or the log; else a tombstone that says that the text is lost, and the life goes on", nil},
	{Fault, "untold loss", "", "", "a tombstone stands for a lost text, and the life does not know", "tells it, by a line of LIFE and a note", nil},
	{Fault, "damaged LIFE", "", "", "the lines before this place are sound; nothing proves what comes after it", "nothing, since no repair invents history: put LIFE.md back from a backup, or import an archive", nil},
	{Fault, "senseless line", "", "", "the line is as it was written, and does not follow from those before it", "nothing: report it as a bug of Lethe", nil},
	{Fault, "differing epoch", "", "", "a resume starts from another state than the lines make", "nothing: the life goes on from what is stored", nil},
	{Fault, "lost entry", "", "", "an entry is neither in the context nor in what has faded, or is there twice: an older program dropped what had faded when a life went back", "nothing: lethe branch goes to an entry of the branch that was left, and back, and then all is there", nil},
	{Fault, "unfinished erasure", "", "", "what was to be erased may still be there; nobody is shown the life until it is not", "finishes it; so does whatever else opens the home", nil},
	{Fault, "altered life", "", "", "it is not what was sealed, or not by this home; lethe verify says more", "nothing: compare it with a checkpoint or an archive that is kept elsewhere", nil},
	{Fault, "wrong SOUL", "", "", "the identity does not start", "moves it to lost+found, and writes the soul of the boot blob", nil},
	{Fault, "damaged file", "", "", "what it held cannot be read", "moves it to lost+found; whoever needs it begins a new one", nil},
	{Fault, "wrong mode", "", "", "others may read or change it, or its owner may not", "restores the mode", nil},
	{Fault, "open key", "", "", "somebody may have read it, who can then alter lives of this home and seal them anew", "closes it. Keep checkpoints of today elsewhere (lethe verify NAME --checkpoint), and move the lives to a new home (lethe export, lethe import), which has a key of its own", nil},
	{Leftover, "no name", "", "", "the identity is found by its hash, and by the name in its log", "makes the link", nil},
	{Leftover, "stray file", "", "", "a crash, an editor or a person has left it; nothing reads it", "moves it to lost+found", nil},
	{Leftover, "torn end", "", "", "a crash cut the last write off; it never happened", "sets it aside beside the log, as the next start does", nil},
	{Leftover, "changed room", "", "", "somebody has edited what was heard; a life hears on from the last of its lines that is still there", "nothing", nil},
}

// Report is what a check has found.
type Report struct {
	Findings []Finding `json:"findings"` // faults first
	Faults   int       `json:"faults"`
	Lives    int       `json:"lives"`
	Lines    int       `json:"lines"` // of LIFE
	Blobs    int       `json:"blobs"`
	Bytes    int64     `json:"bytes"` // of blobs
}

// checker checks a home.
type checker struct {
	home  agent.Home
	all   listing
	began time.Time
	tell  func(blobs, of int, bytes int64)

	mu sync.Mutex // guards what follows while blobs are read
	Report
	lost    map[blobs.Hash]blobs.Hash // tombstones of what is lost: the hashes of their files
	damaged []damaged
	named   map[blobs.Hash]bool // what lives refer to
}

// damaged is a blob whose bytes are not what its name says.
type damaged struct {
	blobs.Hash
	err error
}

// Fsck checks some lives and the blobs that they refer to, or with none of them the whole home. It changes
// nothing, and identities may run. tell, which may be nil, is told how many blobs have been read.
func Fsck(home agent.Home, store *blobs.Store, lives []agent.Identity, tell func(blobs, of int, bytes int64)) (*Report, error) {
	all, err := list(store)
	if err != nil {
		return nil, err
	}
	c := &checker{home: home, all: all, began: time.Now(), tell: tell, lost: map[blobs.Hash]blobs.Hash{}, named: map[blobs.Hash]bool{}}
	c.Findings = []Finding{}
	of, dirs := all.sorted, []string{home.Dir}
	if len(lives) > 0 {
		of, dirs = nil, nil
	}
	for _, id := range lives {
		r := newReacher(id, all, func(h blobs.Hash) error { of = append(of, h); return nil }, func(blobs.Hash, error) {})
		_ = all.scan(id, func(e life.Event, _ int64) error { return r.line(e) }) // c.life tells of errors
		dirs = append(dirs, id.Dir)
	}
	if lives == nil {
		lives, err = home.List()
	}
	err = errors.Join(err, c.blobs(of))
	for _, dir := range dirs {
		err = errors.Join(err, c.files(dir))
	}
	for _, id := range lives {
		err = errors.Join(err, c.life(id))
	}
	err = errors.Join(err, c.tellDamaged())
	slices.SortStableFunc(c.Findings, func(a, b Finding) int { return strings.Compare(a.Level, b.Level) })
	return &c.Report, err
}

// find notes a finding. fix may be nil.
func (c *checker) find(kind, path, what string, fix func() error) {
	f := kinds[slices.IndexFunc(kinds, func(k Finding) bool { return k.Kind == kind })]
	f.Where, f.What, f.fix = strings.TrimPrefix(path, c.home.Dir+"/"), what, fix
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Findings = append(c.Findings, f)
	if f.Level == Fault {
		c.Faults++
	}
}

// blobs holds files against their names, as many at once as there are processors.
func (c *checker) blobs(of []blobs.Hash) error {
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for part := range slices.Chunk(of, 64) {
		g.Go(func() error {
			for _, h := range part {
				b, err := c.all.Get(h)
				path := c.all.Path(h)
				fi, serr := os.Lstat(path)
				if serr != nil { // erased or moved since it was listed; whoever refers to it misses it
					continue
				}
				c.mode(path, fi)
				c.mu.Lock()
				if err != nil {
					c.damaged = append(c.damaged, damaged{h, err})
				}
				if b.Gone != nil && b.Gone.Why == blobs.Lost {
					c.lost[h] = blobs.Sum(blobs.EncodeTombstone(*b.Gone, b.Meta, b.Body))
				}
				c.Blobs, c.Bytes = c.Blobs+1, c.Bytes+fi.Size()
				if c.tell != nil {
					c.tell(c.Blobs, len(of), c.Bytes)
				}
				c.mu.Unlock()
			}
			return nil
		})
	}
	return g.Wait()
}

// tellDamaged notes the damaged blobs, before what misses them. One that nothing names is what a power loss has left of a
// text whose line never came.
func (c *checker) tellDamaged() (err error) {
	if len(c.damaged) > 0 {
		err = errors.Join(c.all.mentioned(c.home.Chats(), c.named), c.all.mentioned(filepath.Join(c.home.Dir, "bridges"), c.named))
	}
	misses := c.Findings
	c.Findings = []Finding{}
	for _, d := range c.damaged {
		kind, path := "damaged blob", c.all.Path(d.Hash)
		if !c.named[d.Hash] {
			kind = "stray file"
		}
		c.find(kind, path, d.err.Error(), func() error { return c.aside(path) })
	}
	c.Findings = append(c.Findings, misses...)
	return err
}

// aside moves a file to lost+found.
func (c *checker) aside(path string) error {
	return moveAside(c.home, path, c.began.UTC().Format("20060102T150405.000000Z"))
}
