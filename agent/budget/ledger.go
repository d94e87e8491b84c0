package budget

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"github.com/gofrs/flock"

	"lethe/internal/durable"
)

// Hold is money put aside for a call: the most that it may cost; or its cost, between the moment
// at which that is known and the line of LIFE that tells it.
type Hold struct {
	N   int    `json:"n"`
	USD USD    `json:"usd"`
	Day string `json:"day"` // the local day that pays for it
}

// Account is the money that one identity has spent and put aside. A line of the ledger is a whole account. The newest
// line of an identity counts. Only the identity writes it; Replace copies it.
type Account struct {
	Self     string `json:"self"`
	Name     string `json:"name"`
	Parent   string `json:"parent,omitempty"` // Self of its parent
	Limit    USD    `json:"limit,omitzero"`   // of its life, set by its parent
	Role     Sums   `json:"role,omitzero"`    // limits of a day and a month, set by its role
	Spending        // without Settled and Warned
	Holds    []Hold `json:"holds,omitempty"`
}

// Hold puts more aside under a number. It copies the list.
func (account *Account) Hold(n int, more USD, day string) {
	if more == 0 {
		return
	}
	account.Holds = slices.Clone(account.Holds)
	i := slices.IndexFunc(account.Holds, func(hold Hold) bool { return hold.N == n })
	if i < 0 {
		i = len(account.Holds)
		account.Holds = append(account.Holds, Hold{N: n, Day: day})
	}
	account.Holds[i].USD += more
}

// Release gives the holds of some numbers back. It copies the list.
func (account *Account) Release(numbers ...int) {
	isGone := func(hold Hold) bool { return slices.Contains(numbers, hold.N) }
	account.Holds = slices.DeleteFunc(slices.Clone(account.Holds), isGone)
}

// Says takes over the spending that the identity's life tells, and releases the holds that it settles.
func (account *Account) Says(spending Spending) {
	account.Release(spending.Settled...)
	if spending.Spent.Life == account.Spent.Life && spending.On(account.Date).Raised == account.Raised {
		return // the account may know since when a clock was ahead; no line tells that
	}
	spending.Settled, spending.Warned, spending.Others = nil, nil, slices.Clone(spending.Others)
	for i := range spending.Others {
		for _, other := range account.Others {
			if other.Date == spending.Others[i].Date {
				spending.Others[i].As = cmp.Or(other.As, spending.Others[i].As)
			}
		}
	}
	account.Spending = spending
}

// Same reports whether two accounts tell the same money. b may stand on an earlier day.
func (account Account) Same(b Account) bool {
	sameLimits := account.Role == b.Role && account.Raised == b.On(account.Date).Raised
	sameSpent := account.Spent.Life == b.Spent.Life && slices.Equal(account.Holds, b.Holds)
	return sameLimits && sameSpent
}

// held adds up the holds that count on a day. A hold for a day to come, made while the clock was ahead, counts until
// its identity starts again.
func (account Account) held(day string) (s Sums) {
	for _, hold := range account.Holds {
		s.Life += hold.USD
		ahead := hold.Day > after(day)
		if ahead || month(hold.Day) == month(day) {
			s.Month += hold.USD
		}
		if ahead || hold.Day == day {
			s.Day += hold.USD
		}
	}
	return s
}

// Ledger is the file of a home with the accounts of its identities: a line for each change. Lines are appended. From
// time to time the newest line of each identity that still matters takes the place of all, so the file does not grow
// with the past. A line that a crash has torn is passed over. All methods except Lock and Missing need the lock.
type Ledger struct {
	Accounts map[string]Account // by Self, as they were last read
	Limits   *Limits            // of a home that several hosts share; nil: no host has set any
	Remote   Remote             // nil unless other hosts share the home

	home  string
	at    int64  // how far the file is read
	end   []byte // the line before
	lines int
}

// Remote is the ledger that several hosts of a home share. The file here is a copy of it as it was last pulled.
type Remote interface {
	// Pull calls f with the lines that were added since. With whole they take the place of all lines.
	Pull(f func(lines []byte, whole bool) error) error
	// Push adds lines, durably. The error is ErrChanged if other hosts have added lines that were not pulled.
	Push(lines []byte, whole bool) error
}

// ErrChanged says that the ledger has changed: the caller has to read it and decide again.
var ErrChanged = errors.New("another host has written the ledger")

// NewLedger returns the ledger of a home. It has read nothing yet.
func NewLedger(home string) *Ledger { return &Ledger{home: home, Accounts: map[string]Account{}} }

func (l *Ledger) path() string { return filepath.Join(l.home, "ledger") }

// Missing reports whether there is no file. It needs no lock.
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

// maxLedger bounds the file, in bytes: no ledger of ours is larger.
const maxLedger = 1 << 28

// Read reads the lines that are new. The error wraps fs.ErrNotExist if there is no file, or a file without an account.
func (l *Ledger) Read() error {
	if l.Remote != nil {
		if err := l.Remote.Pull(l.write); err != nil {
			return err
		}
	}
	return l.read()
}

// write appends lines to the file; with whole they take the place of all lines.
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
		var says struct {
			Account
			Limits *Limits `json:"limits"`
		}
		readable := json.Unmarshal(line, &says) == nil
		if readable && says.Limits != nil {
			l.Limits = says.Limits
		} else if readable && says.Self != "" {
			l.Accounts[says.Self] = says.Account
		}
		l.at, l.end, l.lines = l.at+int64(len(line)), bytes.Clone(line), l.lines+1
	}
	if len(l.Accounts) == 0 {
		return fmt.Errorf("read the ledger: %w: it says nothing", fs.ErrNotExist)
	}
	return nil
}

// Put appends an account, which is durable when Put returns. The error is ErrChanged if another host was faster.
func (l *Ledger) Put(account Account) error {
	err := l.put(false, account)
	if err == nil {
		l.Accounts[account.Self] = account
	}
	return err
}

// PutLimits appends the limits of the home, as Put does an account.
func (l *Ledger) PutLimits(limits Limits) error {
	line, err := limitsLine(limits)
	if err == nil {
		err = l.push(line, false)
	}
	if err == nil {
		l.Limits = &limits
	}
	return err
}

func limitsLine(limits Limits) ([]byte, error) {
	line, err := json.Marshal(map[string]Limits{"limits": limits})
	return append(line, '\n'), err
}

// Replace makes these accounts the whole ledger, beside the limits of the home.
func (l *Ledger) Replace(all []Account) error {
	if err := l.put(true, all...); err != nil {
		return err
	}
	return l.read()
}

func (l *Ledger) put(whole bool, all ...Account) (err error) {
	var text []byte
	if whole && l.Limits != nil {
		if text, err = limitsLine(*l.Limits); err != nil {
			return err
		}
	}
	for _, account := range all {
		line, err := json.Marshal(account)
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	return l.push(text, whole)
}

// push makes lines durable, at all hosts; with whole they take the place of all lines.
func (l *Ledger) push(text []byte, whole bool) (err error) {
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

// NewBook returns the book of a day; of the next day if an account stands there already. An account further ahead, of a
// clock that was wrong, counts as of that day.
func NewBook(limits Limits, today string, all map[string]Account) Book {
	book, next := Book{Limits: limits, Day: today}, after(today)
	for _, account := range all {
		holdsNext := slices.ContainsFunc(account.Holds, func(hold Hold) bool { return hold.Day == next })
		if account.Date == next || holdsNext {
			book.Day = next
		}
	}
	selves := slices.Collect(maps.Keys(all))
	sort.SliceStable(selves, func(i, j int) bool { return all[selves[i]].Name < all[selves[j]].Name })
	for _, self := range selves {
		a := all[self]
		a.Spending = a.On(book.Day)
		book.Accounts = append(book.Accounts, a)
	}
	return book
}

// linesKept bounds the lines of the ledger beside four for each account.
const linesKept = 1000

// Tidy writes the file anew if it is long. It does so, too, if an account stands on a day to come, of a clock that was
// wrong: then the file tells since when that is known. Families that have spent nothing in the month go, except self's
// own.
func (l *Ledger) Tidy(self string, book Book) error {
	next, matters := after(book.Day), map[string]bool{l.family(self): true}
	due := l.lines > linesKept+4*len(l.Accounts)
	for _, account := range book.Accounts {
		if l.Accounts[account.Self].Date > next {
			due = true
		}
		if account.matters(next) {
			matters[l.family(account.Self)] = true
		}
	}
	if !due {
		return nil
	}
	goes := func(a Account) bool { return !matters[l.family(a.Self)] }
	return l.Replace(slices.DeleteFunc(slices.Clone(book.Accounts), goes))
}

// matters reports whether an account counts for a limit of its month, or will: tomorrow is the day after the book's.
func (account Account) matters(tomorrow string) bool {
	later := func(other Other) bool { return other.Date > tomorrow }
	if account.Sums().Month > 0 || len(account.Holds) > 0 {
		return true
	}
	return slices.ContainsFunc(account.Others, later)
}

// family returns the identity whose life has a limit that the calls of self count for: the highest of its ancestors
// that has a parent, or itself.
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
