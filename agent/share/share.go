// Package share keeps the streams of a home where several machines reach them: in a directory, a bucket or JetStream.
//
//	store, err := share.Open("s3://s3.eu-central-1.amazonaws.com/bucket/home", 0)
//	err = store.Create(ctx, "lives/3f9c", 8, data) // nil: durable there; ErrTaken: another text is number 8
//
// A store does one thing: it creates a text if there is none. The right to a life, the order of a room and the end of a
// host that was asleep follow from that alone, not from a clock, a lock or a header. docs/share.md
// has the engines and the tests.
package share

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Store keeps streams: texts, numbered from 1, each created once. A name of a stream is a path of parts of a-z, 0-9,
// "_", "-" and "."; no part begins with a dot. A Store is safe for concurrent use.
type Store interface {
	// Create makes text n of a stream durable, or returns ErrTaken where another text has that number. After an answer
	// that was lost or says nothing, Create looks: equal bytes are ours, so callers put a nonce into them. Until it
	// knows, it tries again, for 15 s or until ctx ends, and then returns ErrAway: the text may be there, or may yet
	// arrive. For the next 15 s each call tries for 3 s. Callers create n only when n-1 is there, and no other bytes as
	// n before it is settled.
	Create(ctx context.Context, stream string, n int, data []byte) error
	// Get returns a text, which is durable then, or ErrMissing.
	Get(ctx context.Context, stream string, n int) ([]byte, error)
	// Newest returns the highest number, 0 for an empty stream. It sees each Create that has returned. It returns no
	// lower number than after, which the caller knows to be there.
	Newest(ctx context.Context, stream string, after int) (int, error)
	// Numbers lists the numbers of a stream, in no order. It reads no text.
	Numbers(ctx context.Context, stream string) ([]int, error)
	// Watch signals "look": at once, and when somebody else may have made a stream longer. Signals coalesce, and some are
	// false. Where the store does not tell, it is asked each 2 s while there is news, and at least each 10 s. The channel
	// stays open when ctx ends.
	Watch(ctx context.Context, stream string) <-chan struct{}
	// Delete forgets numbers up to one, never the newest. In a bucket and a directory a host that knows nothing can
	// create such a number again: callers read it from the pack that holds it, and keep the first text of each holder,
	// which stops that host. JetStream refuses it by itself, and keep is not asked. After an error Delete may be
	// repeated.
	Delete(ctx context.Context, stream string, upto int, keep func(n int) bool) error
	// Drop removes a stream, the newest text too.
	Drop(ctx context.Context, stream string) error
	// List returns the names of streams that begin with prefix, sorted.
	List(ctx context.Context, prefix string) ([]string, error)
	Close() error
}

// Bounds of a Store.
const (
	MostBytes  = 768 << 10 // of a text, which has at least one
	MostNumber = 999_999_999
	MostName   = 200 // bytes of a stream's name
)

// ErrAway says that the store gave no answer. After a Create the outcome is unknown.
var ErrAway = errors.New("the store is away")

// known is an error that a store answers with.
type known string

func (k known) Error() string { return string(k) }

// Answers of a Store.
const (
	ErrTaken   known = "another text has this number"
	ErrMissing known = "no such text"
	ErrDamaged known = "the text is not as long as it was" // other damage is for callers to find
)

// IsTaken reports whether an error says ErrTaken.
func IsTaken(err error) bool { return errors.Is(err, ErrTaken) }

// IsMissing reports whether an error says ErrMissing.
func IsMissing(err error) bool { return errors.Is(err, ErrMissing) }

// IsAway reports whether an error says ErrAway.
func IsAway(err error) bool { return errors.Is(err, ErrAway) }

// Open returns the store at a URL; whether it is there shows at the first call. A call tries for the time patience, 15
// s if it is 0.
//
//	file:///path                                     a directory that is there, shared by all hosts
//	s3://endpoint/bucket/prefix?region=eu-central-1  a bucket; s3+http://… without TLS
//	nats://host:4222,host2:4222/home                 JetStream; tls://… insists on TLS
//
// Keys come from the environment or what was kept for it (secret.Value), by the names that others use:
// package storekeys has the names. They may change while
// the store is open.
func Open(at string, patience time.Duration) (Store, error) {
	scheme, rest, _ := strings.Cut(at, "://")
	rest, ask, _ := strings.Cut(rest, "?")
	host, path, _ := strings.Cut(rest, "/")
	query, err := url.ParseQuery(ask)
	var e engine
	switch {
	case err != nil:
	case strings.Contains(host, "@"):
		err = errors.New("keys belong into the environment, not into the URL")
	case scheme == "file" && host == "":
		e = openDirectory("/" + path)
	case scheme == "s3" || scheme == "s3+http":
		e, err = openBucket(host, path, scheme == "s3", query.Get("region"))
	case scheme == "nats" || scheme == "tls":
		e, err = openJetStream(host, path, scheme == "tls", query.Get("monitor"), query.Get("domain"))
	default:
		err = errors.New("write file:///path, s3://endpoint/bucket/prefix or nats://host:4222/home")
	}
	if err != nil {
		return nil, fmt.Errorf("open %s share: %w", scheme, err)
	}
	return &store{engine: e, patience: cmp.Or(patience, 15*time.Second)}, nil
}
