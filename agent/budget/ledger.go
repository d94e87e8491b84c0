package budget

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"lethe/internal/durable"
)

// Hold is money put aside for a call: the most that it may cost, or what it has cost when that
// is known and no line has said so yet.
type Hold struct {
	N   int    `json:"n"`
	USD USD    `json:"usd"`
	Day string `json:"day"` // the local day that pays for it
}

// Account is what one identity has spent and put aside. A line of the ledger is one, whole: the newest of an
// identity counts, and the identity alone writes it, but for copies.
type Account struct {
	Self     string `json:"self"`
	Name     string `json:"name"`
	Parent   string `json:"parent,omitempty"` // Self of its parent
	Limit    USD    `json:"limit,omitzero"`   // of its life, as its parent has set it
	Spending        // without Settled and Warned
	Holds    []Hold `json:"holds,omitempty"`
}

// Hold puts more, if it is any, aside under a number, in a copy of the list.
func (a *Account) Hold(n int, more USD, day string) {
	if more == 0 {
		return
	}
	a.Holds = slices.Clone(a.Holds)
	i := slices.IndexFunc(a.Holds, func(h Hold) bool { return h.N == n })
	if i < 0 {
		i = len(a.Holds)
		a.Holds = append(a.Holds, Hold{N: n, Day: day})
	}
	a.Holds[i].USD += more
}

// Release gives back what is put aside under some numbers, in a copy of the list.
func (a *Account) Release(numbers ...int) {
	a.Holds = slices.DeleteFunc(slices.Clone(a.Holds), func(h Hold) bool { return slices.Contains(numbers, h.N) })
}

// Says takes over what the lines of its life say, which pay holds.
func (a *Account) Says(s Spending) {
	a.Release(s.Settled...)
	if s.Spent.Life == a.Spent.Life && s.On(a.Date).Raised == a.Raised {
		return // it may know since when a clock was ahead, which no line has said yet
	}
	s.Settled, s.Warned, s.Others = nil, nil, slices.Clone(s.Others)
	for i := range s.Others {
		for _, o := range a.Others {
			if o.Date == s.Others[i].Date {
				s.Others[i].As = cmp.Or(o.As, s.Others[i].As)
			}
		}
	}
	a.Spending = s
}

// Same reports whether two accounts, one of them perhaps as it stands on a later day, say the same.
func (a Account) Same(b Account) bool {
	return a.Spent.Life == b.Spent.Life && a.Raised == b.On(a.Date).Raised && slices.Equal(a.Holds, b.Holds)
}

// held adds up the holds, as they count on a day. One for a day to come, by a clock that was ahead, counts until its
// identity starts again.
func (a Account) held(day string) (s Sums) {
	for _, h := range a.Holds {
		s.Life += h.USD
		ahead := h.Day > after(day)
		if ahead || month(h.Day) == month(day) {
			s.Month += h.USD
		}
		if ahead || h.Day == day {
			s.Day += h.USD
		}
	}
	return s
}

// Ledger is the file of a home that says what its identities have spent and put aside: a line for each change. Lines
// are appended; from time to time, the newest of each identity that still matters take the place of all. So what
// there is to read does not grow with the past. A line that a crash has torn says nothing. Methods but Lock need the
// lock.
type Ledger struct {
	Accounts map[string]Account // by Self, as far as it is read
	Remote   Remote             // nil where no other host shares the home

	home  string
	at    int64  // how far the file is read
	end   []byte // the line before
	lines int
}

// Remote is the ledger that several hosts of a home share. The file here has what it had when it was last read.
type Remote interface {
	// Pull calls f with lines that were added. whole says that they take the place of all.
	Pull(f func(lines []byte, whole bool) error) error
	// Push adds lines, durably. The error is ErrChanged where other hosts have added something that was not pulled.
	Push(lines []byte, whole bool) error
}

// ErrChanged says that the ledger has to be read, and what was decided by it decided again.
var ErrChanged = errors.New("another host has written the ledger")

// NewLedger returns the ledger of a home. It has read nothing yet.
func NewLedger(home string) *Ledger { return &Ledger{home: home, Accounts: map[string]Account{}} }

func (l *Ledger) path() string { return filepath.Join(l.home, "ledger") }

// Missing reports whether there is no file, so that who needs none has no need to lock.
func (l *Ledger) Missing() bool {
	_, err := os.Lstat(l.path())
	return errors.Is(err, fs.ErrNotExist)
}

// Lock waits until nobody else, of any process, has the ledger.
func (l *Ledger) Lock() (unlock func(), err error) {
	lock := flock.New(filepath.Join(l.home, "agents"), flock.SetFlag(os.O_RDONLY))
	if err := lock.Lock(); err != nil {
		return nil, fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	return func() { _ = lock.Close() }, nil
}

// maxLedger bounds the file, in bytes, against one that nobody can have written.
const maxLedger = 1 << 28

// Read reads what is new in the file. The error wraps fs.ErrNotExist where there is none, or one that says nothing.
func (l *Ledger) Read() error {
	if l.Remote != nil {
		if err := l.Remote.Pull(l.write); err != nil {
			return err
		}
	}
	return l.read()
}

// write adds lines to the file, or has it have no others.
func (l *Ledger) write(lines []byte, whole bool) error {
	if !whole {
		_, _, err := durable.Append(l.path(), lines, 0o600)
		return err
	}
	return durable.WriteFile(l.path(), lines, 0o600)
}

func (l *Ledger) read() error {
	f, _, err := durable.OpenRegular(l.path(), os.O_RDONLY, 0)
	if err != nil {
		*l = Ledger{Accounts: map[string]Account{}, Remote: l.Remote, home: l.home}
		return fmt.Errorf("read the ledger: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, l.at-int64(len(l.end)), maxLedger))
	if err == nil && !bytes.HasPrefix(data, l.end) { // it was made anew
		*l = Ledger{Accounts: map[string]Account{}, Remote: l.Remote, home: l.home}
		data, err = io.ReadAll(io.NewSectionReader(f, 0, maxLedger))
	}
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	data = data[len(l.end):]
	for line := range bytes.Lines(data[:bytes.LastIndexByte(data, '\n')+1]) {
		var a Account
		if json.Unmarshal(line, &a) == nil && a.Self != "" {
			l.Accounts[a.Self] = a
		}
		l.at, l.end, l.lines = l.at+int64(len(line)), bytes.Clone(line), l.lines+1
	}
	if len(l.Accounts) == 0 {
		return fmt.Errorf("read the ledger: %w: it says nothing", fs.ErrNotExist)
	}
	return nil
}

// Put appends what is true of an identity now. It is durable when Put returns. The error is ErrChanged where another host
// was faster.
func (l *Ledger) Put(a Account) error {
	err := l.put(false, a)
	if err == nil {
		l.Accounts[a.Self] = a
	}
	return err
}

// Replace has the ledger say what these accounts say, and nothing else.
func (l *Ledger) Replace(all []Account) error {
	if err := l.put(true, all...); err != nil {
		return err
	}
	return l.read()
}

func (l *Ledger) put(whole bool, all ...Account) (err error) {
	var text []byte
	for _, a := range all {
		line, err := json.Marshal(a)
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	if l.Remote != nil {
		err = l.Remote.Push(text, whole)
	}
	if err == nil {
		err = l.write(text, whole)
	}
	if err != nil {
		err = fmt.Errorf("write the ledger: %w", err)
	}
	return err
}

// NewBook is the book of a day, or of the next one if an account counts for that already. A clock that was further
// ahead counts as now.
func NewBook(limits Limits, today string, all map[string]Account) Book {
	b, next := Book{Limits: limits, Day: today}, after(today)
	for _, a := range all {
		if a.Date == next || slices.ContainsFunc(a.Holds, func(h Hold) bool { return h.Day == next }) {
			b.Day = next
		}
	}
	for _, a := range all {
		a.Spending = a.On(b.Day)
		b.Accounts = append(b.Accounts, a)
	}
	slices.SortFunc(b.Accounts, func(x, y Account) int { return strings.Compare(x.Name, y.Name) })
	return b
}

// linesKept is how many lines the ledger may have beside four for each account.
const linesKept = 1000

// Tidy makes the file anew where it is long, or where a clock that was ahead has counted in it: then it says since
// when that is known. What does not matter any more goes: a family that has spent nothing in the month, but for that
// of self.
func (l *Ledger) Tidy(self string, b Book) error {
	next, matters := after(b.Day), map[string]bool{l.family(self): true}
	long := l.lines > linesKept+4*len(l.Accounts)
	for _, a := range b.Accounts {
		long = long || l.Accounts[a.Self].Date > next
		later := slices.ContainsFunc(a.Others, func(o Other) bool { return o.Date > next })
		if a.Sums().Month > 0 || later || len(a.Holds) > 0 {
			matters[l.family(a.Self)] = true
		}
	}
	if !long {
		return nil
	}
	return l.Replace(
		slices.DeleteFunc(slices.Clone(b.Accounts), func(a Account) bool { return !matters[l.family(a.Self)] }),
	)
}

// family is the identity whose life has a limit that the calls of self count for: the highest of its ancestors that
// has a parent, or itself.
func (l *Ledger) family(self string) string {
	for range len(l.Accounts) {
		parent, known := l.Accounts[l.Accounts[self].Parent]
		if !known || parent.Parent == "" {
			break
		}
		self = parent.Self
	}
	return self
}
