// Package seal seals texts for the age keys in share.key of a home, which may change while a program runs.
//
//	keys, err := seal.Load(home, nil, true)
//	data, err := keys.Seal(text)
//	text, err := keys.Open(data) // ErrKey: none of the keys opens it
package seal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/blake3"

	"lethe/internal/durable"
	"lethe/internal/secret"
)

// File is the path of the keys of a home, the same on each host.
func File(home string) string { return filepath.Join(home, "share.key") }

// ErrKey says that no key here opens a text.
var ErrKey = errors.New("no key in share.key opens it: copy share.key from a host that shares the home")

// errPlain says that a text is stored in the other way.
var errPlain = fmt.Errorf("%w; or share.plain is not as it was when the store was first used", ErrKey)

// errNone says that a home has no key.
var errNone = fmt.Errorf("%w; here it is missing, and lethe run makes the first one", ErrKey)

// ErrOther says that a text, which is not damaged, names other keys than those here.
var ErrOther = fmt.Errorf("%w: it has another key", ErrKey)

// ErrLost says that the File of a home lacks a key that it had: who wrote it back when no process ran has an older copy.
var ErrLost = errors.New("it lacks a key that it had")

// Keys seal and open texts. The first key of a File seals, and each opens. A file that changes counts at the next
// text, unless it lacks a key that it had: older texts need that.
type Keys struct {
	Tell func(error) // why a file that has changed does not count

	path string // of the File, "" for keys of no file
	more []age.Recipient

	mu   sync.Mutex
	size int64 // of the file when it was read
	at   time.Time
	told string // what is wrong with it
	kept bool   // share/keys names its keys
	pairs
}

// pairs are keys at a moment.
type pairs struct {
	open  []age.Identity
	seal  age.Recipient
	names []string // of those that open
}

// named is a recipient whose texts name its key in a stanza: who lacks it sees that they are not damaged.
type named struct{ age.Recipient }

func (r named) name() string {
	sum := blake3.Sum256(fmt.Append(nil, r.Recipient))
	return fmt.Sprintf("lethe-%x", sum[:4])
}

func (r named) WrapWithLabels(key []byte) (all []*age.Stanza, labels []string, err error) {
	if labelled, is := r.Recipient.(age.RecipientWithLabels); is {
		all, labels, err = labelled.WrapWithLabels(key)
	} else {
		all, err = r.Wrap(key)
	}
	return append(all, &age.Stanza{Type: r.name()}), labels, err
}

// Load reads the key of a home. Where it is missing it is made, or without makes the error is ErrKey. Texts are
// sealed for it and for more age recipients.
func Load(home string, more []string, makes bool) (*Keys, error) {
	keys := &Keys{path: File(home)}
	err := keys.read()
	if errors.Is(err, fs.ErrNotExist) {
		if err = errNone; makes {
			err = keys.lost(nil)
		}
		if makes && err == nil {
			err = errors.Join(locked(home, func() error { return addKey(home, true) }), keys.read())
		}
	}
	if err != nil || len(more) == 0 {
		return keys, err
	}
	others, err := age.ParseRecipients(strings.NewReader(strings.Join(more, "\n")))
	for _, other := range others {
		keys.more = append(keys.more, named{other})
	}
	if err == nil {
		_, err = keys.Seal(nil) // which fails for a post-quantum key beside an older one
	}
	if err != nil {
		err = fmt.Errorf("share.to: %w", err)
	}
	return keys, err
}

// read reads the file if it has changed, and has it survive a power loss before something is sealed for it: who wrote it
// may not have. A key that it had and lacks is put back: nobody else may have it.
func (keys *Keys) read() error {
	fi, err := os.Stat(keys.path)
	if err != nil || fi.Size() == keys.size && fi.ModTime().Equal(keys.at) {
		return err
	}
	text, _, err := durable.ReadRegular(keys.path, 1<<16)
	if err = errors.Join(err, durable.Sync(keys.path)); err != nil {
		return err // and who may not read it may later
	}
	keys.size, keys.at = fi.Size(), fi.ModTime()
	now, err := Parse(string(text))
	whole := text
	for k, name := range keys.names {
		if err == nil && !slices.Contains(now.names, name) {
			whole = fmt.Appendf(whole, "\n%s\n", keys.open[k])
		}
	}
	if len(whole) > len(text) {
		err = locked(filepath.Dir(keys.path), func() error {
			if now, err := os.ReadFile(keys.path); err != nil || !bytes.Equal(now, text) {
				return err // it has changed again, which the next text sees
			}
			return durable.WriteFile(keys.path, whole, 0o600)
		})
		err = errors.Join(errors.New("it lacks a key that it had, which goes back to its end"), err)
	}
	if err == nil {
		err = keys.lost(now.names)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", keys.path, err)
	}
	keys.pairs, keys.kept = now.pairs, false
	return nil
}

// had returns the file that names the keys for which texts are stored, and these.
func (keys *Keys) had() (file string, names []string) {
	file = filepath.Join(filepath.Dir(keys.path), "share", "keys")
	text, _, _ := durable.ReadRegular(file, 1<<16)
	return file, strings.Fields(string(text))
}

// lost returns ErrLost if the file had a key that is not among those of the names.
func (keys *Keys) lost(names []string) error {
	file, had := keys.had()
	for _, name := range had {
		if !slices.Contains(names, name) {
			const what = "%w: %s, for which newer texts are stored. Nothing is stored until its line is back: copy share.key " +
				"from another host, or from where you keep it. Only for a store without such texts, remove %s"
			return fmt.Errorf(what, ErrLost, name, file)
		}
	}
	return nil
}

// remember notes the names of the keys on this disk once they have opened a text, since other texts are stored for them.
// Until then a key may go: a host may have made one before it was given that of its home. If the disk is full, the next
// text is noted.
func (keys *Keys) remember() {
	keys.mu.Lock()
	defer keys.mu.Unlock()
	if keys.kept || keys.path == "" {
		return
	}
	file, had := keys.had()
	keys.kept = len(had) >= len(keys.names) ||
		durable.WriteFile(file, []byte(strings.Join(keys.names, "\n")+"\n"), 0o600) == nil
}

// now returns the keys. A file that is away changes nothing.
func (keys *Keys) now() pairs {
	keys.mu.Lock()
	defer keys.mu.Unlock()
	err := keys.read()
	trouble := fmt.Sprint(err)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && keys.Tell != nil && trouble != keys.told {
		keys.Tell(err)
	}
	keys.told = trouble
	return keys.pairs
}

// Parse reads what a File holds.
func Parse(text string) (*Keys, error) {
	own, err := age.ParseIdentities(strings.NewReader(text))
	keys := &Keys{pairs: pairs{open: own}}
	for _, identity := range own {
		var one named
		switch own := identity.(type) {
		case *age.X25519Identity:
			one.Recipient = own.Recipient()
		case *age.HybridIdentity:
			one.Recipient = own.Recipient()
		}
		secret.Add(fmt.Sprint(identity))
		keys.names = append(keys.names, one.name())
		if keys.seal == nil {
			keys.seal = one
		}
	}
	return keys, err
}

// Put writes the File of a home, age identities.
func Put(home, key string) error {
	if _, err := Parse(key); err != nil {
		return fmt.Errorf("the key to the store is a line that begins with AGE-SECRET-KEY-1: %w", err)
	}
	return durable.WriteFile(File(home), []byte(strings.TrimSpace(key)+"\n"), 0o600)
}

// New puts a new key before those in the File of a home: it seals from then on.
func New(home string) error {
	keys, err := Load(home, nil, false) // or the rest of a file that is damaged would count as whole
	if err == nil {
		err = locked(home, func() error { return addKey(home, false) })
	}
	if err == nil {
		_, had := keys.had()
		if keys.now(); len(had) > 0 { // its hosts may seal for the new one, and open nothing
			keys.remember()
		}
	}
	return err
}

// locked calls f while no other process of the home writes its File.
func locked(home string, f func() error) error {
	lock := durable.Lock(filepath.Join(home, "share", "key.lock"))
	defer lock.Close()
	err := durable.MkdirAll(filepath.Dir(lock.Path()), 0o700)
	if err == nil {
		err = lock.Lock()
	}
	if err == nil {
		err = f()
	}
	return err
}

// addKey puts a new key into the File of a home. The first one it puts into a file that is missing alone.
func addKey(home string, first bool) error {
	old, err := os.ReadFile(File(home))
	if first && errors.Is(err, fs.ErrNotExist) {
		err = nil
	} else if first || err != nil { // another process was faster
		return err
	}
	own, err := age.GenerateX25519Identity()
	if err == nil {
		err = durable.WriteFile(File(home), fmt.Appendf(nil, "%s\n%s", own, old), 0o600)
	}
	return err
}

var (
	compressor = sync.OnceValue(func() *zstd.Encoder {
		z, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20)) // options that are right
		return z
	})
	decompressor = sync.OnceValue(func() *zstd.Decoder {
		z, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
		return z
	})
)

// Seal returns a text that only hosts of the home can read, compressed. Nil keys leave it as it is.
func (keys *Keys) Seal(text []byte) ([]byte, error) {
	if keys == nil {
		return text, nil
	}
	var b bytes.Buffer
	w, err := age.Encrypt(&b, append([]age.Recipient{keys.now().seal}, keys.more...)...)
	if err == nil {
		_, err = w.Write(compressor().EncodeAll(text, nil))
	}
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

// Open returns the text that was sealed.
func (keys *Keys) Open(data []byte) ([]byte, error) {
	switch sealed := bytes.HasPrefix(data, []byte("age-encryption.org/")); {
	case sealed != (keys != nil):
		return nil, errPlain
	case keys == nil:
		return data, nil
	}
	now := keys.now()
	r, err := age.Decrypt(bytes.NewReader(data), now.open...)
	if none, is := errors.AsType[*age.NoIdentityMatchError](err); is {
		err = ErrKey
		for _, name := range none.StanzaTypes {
			if slices.Contains(now.names, name) { // its header is damaged
				return nil, none
			}
			if strings.HasPrefix(name, "lethe-") {
				err = fmt.Errorf("%w, %s", ErrOther, name)
			}
		}
	}
	var text []byte
	if err == nil {
		keys.remember()
		text, err = io.ReadAll(r)
	}
	if err == nil {
		text, err = decompressor().DecodeAll(text, nil)
	}
	return text, err
}
