package streams

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"lethe/agent/share"
	"lethe/internal/durable"
	"lethe/internal/secret"
)

// KeyFile is the path of the key to the streams of a home: an age identity, the same on each host.
func KeyFile(home string) string { return filepath.Join(home, "share.key") }

// ErrKey says that no key here opens a text.
var ErrKey = errors.New("no key in share.key opens it: copy share.key from a host that shares the home")

// errPlain says that a text is stored in the other way.
var errPlain = fmt.Errorf("%w; or share.plain is not as it was when the store was first used", ErrKey)

// Keys seal and open texts.
type Keys struct {
	open []age.Identity
	seal []age.Recipient
}

// LoadKeys reads the key of a home, and makes it where it is missing. Texts are sealed for it and for more age
// recipients.
func LoadKeys(home string, more []string) (*Keys, error) {
	text, _, err := durable.ReadRegular(KeyFile(home), 1<<16)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = makeKey(KeyFile(home))
	}
	var keys *Keys
	if err == nil {
		keys, err = ParseKeys(string(text))
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", KeyFile(home), err)
	}
	if len(more) > 0 {
		others, err := age.ParseRecipients(strings.NewReader(strings.Join(more, "\n")))
		if err != nil {
			return nil, fmt.Errorf("share.to: %w", err)
		}
		keys.seal = slices.Concat(keys.seal, others)
		if _, err := keys.sealed(nil); err != nil { // as with a post-quantum key beside an older one
			return nil, fmt.Errorf("share.to: %w", err)
		}
	}
	return keys, nil
}

// Opens returns ErrKey if a text of a stream cannot be opened with the keys of a home. It makes no key.
func Opens(ctx context.Context, store share.Store, stream, home string, plain bool) error {
	newest, err := store.Newest(ctx, stream, 0)
	if err != nil || newest == 0 {
		return err
	}
	all := &Streams{Store: store}
	if !plain {
		text, _, err := durable.ReadRegular(KeyFile(home), 1<<16)
		if errors.Is(err, fs.ErrNotExist) {
			return ErrKey
		}
		if err == nil {
			all.Keys, err = ParseKeys(string(text))
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", KeyFile(home), err)
		}
	}
	_, err = all.Get(ctx, stream, newest)
	return err
}

// ParseKeys reads what a KeyFile holds.
func ParseKeys(text string) (*Keys, error) {
	own, err := age.ParseIdentities(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	keys := &Keys{open: own}
	for _, identity := range own {
		switch own := identity.(type) {
		case *age.X25519Identity:
			keys.seal = append(keys.seal, own.Recipient())
			secret.Add(own.String())
		case *age.HybridIdentity:
			keys.seal = append(keys.seal, own.Recipient())
			secret.Add(own.String())
		}
	}
	return keys, nil
}

func makeKey(path string) ([]byte, error) {
	own, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	err = durable.Create(path, []byte(own.String()+"\n"), 0o600)
	if err != nil && !errors.Is(err, fs.ErrExist) { // another process was faster
		return nil, err
	}
	return os.ReadFile(path)
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

// sealed returns a text that only hosts of the home can read, compressed. Nil keys leave it as it is.
func (keys *Keys) sealed(text []byte) ([]byte, error) {
	if keys == nil {
		return text, nil
	}
	var b bytes.Buffer
	w, err := age.Encrypt(&b, keys.seal...)
	if err == nil {
		_, err = w.Write(compressor().EncodeAll(text, nil))
	}
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

// opened returns the text that was sealed.
func (keys *Keys) opened(data []byte) ([]byte, error) {
	switch sealed := bytes.HasPrefix(data, []byte("age-encryption.org/")); {
	case sealed != (keys != nil):
		return nil, errPlain
	case keys == nil:
		return data, nil
	}
	r, err := age.Decrypt(bytes.NewReader(data), keys.open...)
	if errors.As(err, new(*age.NoIdentityMatchError)) {
		return nil, ErrKey
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(r)
	}
	if err == nil {
		text, err = decompressor().DecodeAll(text, nil)
	}
	return text, err
}
