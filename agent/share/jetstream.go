package share

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"lethe/internal/buckets"
	"lethe/internal/storekeys"
)

// jetStream is an engine: JetStream refuses a message when its subject does not end where the publisher believes. One
// JetStream stream holds a home, and one subject of it a stream of ours. A message has its number in a header. Its seq
// is its place, a cursor and no truth: after a restore it lies elsewhere.
type jetStream struct {
	conn    *nats.Conn
	home    string // the JetStream stream, with which its subjects begin
	calls   string // begins subjects of the API
	monitor string // the port where servers tell how they are set up
	made    atomic.Bool
	sent    atomic.Int64 // requests
	cursors sync.Map     // by stream, the cursor that was seen last
}

type cursor struct {
	n   int
	seq uint64
}

const (
	numberHeader = "Lethe-N"
	answerTime   = 2 * time.Second
)

func openJetStream(hosts, home string, tls bool, monitor, domain string) (e engine, err error) {
	home = cmp.Or(home, "lethe")
	if strings.Trim(home, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return e, errors.New("the name of the home has a-z, 0-9, _ and - only")
	}
	options := nats.GetDefaultOptions()
	options.Name, options.Servers, options.Secure = "lethe", strings.Split(hosts, ","), tls
	options.Timeout, options.PingInterval, options.ReconnectWait = answerTime, answerTime, answerTime/8
	options.RetryOnFailedConnect, options.IgnoreAuthErrorAbort, options.MaxReconnect = true, true, -1
	options.ReconnectBufSize = -1                                         // what is not sent now has failed
	options.AsyncErrorCB = func(*nats.Conn, *nats.Subscription, error) {} // each call has its own error
	if err := storekeys.NATS(&options); err != nil {
		return e, err
	}
	conn, err := options.Connect()
	j := &jetStream{conn: conn, home: home, monitor: cmp.Or(monitor, "8222"), calls: "$JS.API.STREAM."}
	if domain != "" {
		j.calls = "$JS." + domain + ".API.STREAM."
	}
	return engine{create: j.create, get: j.get, newest: j.newest, numbers: j.numbers, remove: j.remove, list: j.list,
		watch: j.watch, settings: j.wrong, probe: j.probe, close: conn.Close,
		asked: func() buckets.Asked { return buckets.Asked{Messages: j.sent.Load()} }}, err
}

// Slashes part the names of streams, and dots part subjects.
var swap = strings.NewReplacer("/", ".", ".", "/")

func (j *jetStream) subject(stream string) string { return j.home + ".s." + swap.Replace(stream) }

// settings of the JetStream stream HOME. Lethe rests on all: followers, which lag, would answer direct gets.
const settings = `{"name": "HOME", "subjects": ["HOME.>"], "storage": "file", "num_replicas": 3, "retention": "limits",
	"discard": "new", "max_age": 0, "max_bytes": -1, "max_msgs": -1, "max_msgs_per_subject": -1, "max_msg_size": -1,
	"allow_direct": false, "deny_purge": false,
	"republish": {"src": "HOME.>", "dest": "told.HOME.>", "headers_only": true}}`

func (j *jetStream) settings() string { return strings.ReplaceAll(settings, "HOME", j.home) }

// answer is an answer of JetStream, of whatever kind.
type answer struct {
	Error struct {
		Code        int `json:"err_code"`
		Description string
	}
	Seq     uint64 // of an acknowledgement
	Message struct {
		Seq        uint64
		Hdrs, Data []byte
	}
	Config map[string]any
	State  struct{ Subjects map[string]int }
	Total  int // of subjects
}

// Error codes of JetStream. Others, 10071 and 10164 for a wrong sequence among them, do not say what is there.
const (
	noMessage = 10037
	different = 10058 // it is there, with other settings
	oneServer = 10074
)

func (j *jetStream) send(ctx context.Context, m *nats.Msg) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	j.sent.Add(1)
	got, err := j.conn.RequestMsgWithContext(ctx, m)
	if err == nil {
		err = json.Unmarshal(got.Data, &a)
	}
	if err == nil && a.Error.Code > 0 {
		err = fmt.Errorf("jetstream: %s (%d)", a.Error.Description, a.Error.Code)
	}
	if err != nil && !j.conn.IsConnected() {
		why := j.conn.LastError() // such as a password that is refused
		if why == nil {
			why = err
		}
		err = fmt.Errorf("no connection to %v: %w", j.conn.Opts.Servers, why)
	}
	return a, err
}

func (j *jetStream) api(ctx context.Context, call, format string, args ...any) (answer, error) {
	m := nats.NewMsg(j.calls + call + "." + j.home)
	m.Data = fmt.Appendf(nil, format, args...)
	return j.send(ctx, m)
}

// open makes the JetStream stream, once, unless it is there.
func (j *jetStream) open(ctx context.Context) error {
	if j.made.Load() {
		return nil
	}
	a, err := j.api(ctx, "CREATE", "%s", j.settings())
	if a.Error.Code == oneServer {
		a, err = j.api(ctx, "CREATE", "%s", strings.Replace(j.settings(), ": 3", ": 1", 1))
	}
	if a.Error.Code == different {
		err = nil
	}
	j.made.Store(err == nil)
	return err
}

// message is a text as JetStream holds it.
type message struct {
	cursor
	text []byte
}

// read returns the message of a stream that a request names.
func (j *jetStream) read(ctx context.Context, stream, format string, args ...any) (m message, err error) {
	if err := j.open(ctx); err != nil {
		return m, err
	}
	a, err := j.api(ctx, "MSG.GET", format, args...)
	if a.Error.Code == noMessage {
		err = ErrMissing
	}
	if err != nil {
		return m, err
	}
	header, _ := nats.DecodeHeadersMsg(a.Message.Hdrs)
	m.seq, m.text = a.Message.Seq, a.Message.Data
	m.n, err = strconv.Atoi(header.Get(numberHeader))
	if err == nil {
		err = check(stream, m.n)
	}
	if err != nil {
		return message{}, fmt.Errorf("message %d: %w", a.Message.Seq, ErrDamaged)
	}
	j.cursors.Store(stream, m.cursor)
	return m, nil
}

// next returns the first message of a stream at seq or behind it.
func (j *jetStream) next(ctx context.Context, stream string, seq int) (message, error) {
	return j.read(ctx, stream, `{"seq": %d, "next_by_subj": %q}`, seq, j.subject(stream))
}

// seen returns the cursor of a stream that was seen last.
func (j *jetStream) seen(stream string) cursor {
	last, _ := j.cursors.Load(stream)
	c, _ := last.(cursor)
	return c
}

// find returns message n of a stream, or ErrMissing and the last one.
func (j *jetStream) find(ctx context.Context, stream string, n int) (message, error) {
	if was := j.seen(stream); was.n == n-1 {
		if m, err := j.next(ctx, stream, int(was.seq)+1); err == nil && m.n == n {
			return m, nil
		}
	}
	last, err := j.read(ctx, stream, `{"last_by_subj": %q}`, j.subject(stream))
	if err == nil && last.n < n {
		err = ErrMissing
	}
	if err != nil || last.n == n {
		return last, err
	}
	m := last
	sort.Search(int(last.seq), func(seq int) bool {
		if err != nil {
			return true // the search ends, and asks for nothing more
		}
		var at message
		at, err = j.next(ctx, stream, seq)
		if at.n == n {
			m = at
		}
		return at.n >= n
	})
	if err != nil {
		return message{}, err
	}
	if m.n != n {
		err = ErrMissing
	}
	return m, err
}

func (j *jetStream) create(ctx context.Context, stream string, n int, text []byte) error {
	before := j.seen(stream)
	switch {
	case n == 1:
		before.seq = 0
	case before.n != n-1:
		m, err := j.find(ctx, stream, n-1)
		if err != nil {
			return fmt.Errorf("number %d: %v", n-1, err)
		}
		before = m.cursor
	}
	m := nats.NewMsg(j.subject(stream))
	m.Data = text
	m.Header.Set(numberHeader, strconv.Itoa(n))
	m.Header.Set(nats.ExpectedLastSubjSeqHdr, strconv.FormatUint(before.seq, 10))
	a, err := j.send(ctx, m)
	if err == nil && a.Seq == 0 {
		err = errors.New("no acknowledgement")
	}
	if err != nil {
		j.cursors.Delete(stream) // which may be wrong
		return err
	}
	j.cursors.Store(stream, cursor{n, a.Seq})
	return nil
}

func (j *jetStream) get(ctx context.Context, stream string, n int) ([]byte, error) {
	m, err := j.find(ctx, stream, n)
	return m.text, err
}

func (j *jetStream) newest(ctx context.Context, stream string) (int, error) {
	m, err := j.find(ctx, stream, MostNumber)
	if err == ErrMissing {
		err = nil
	}
	return m.n, err
}

// numbers goes from message to message only where their count says that some are missing.
func (j *jetStream) numbers(ctx context.Context, stream string) (all []int, err error) {
	newest, err := j.newest(ctx, stream)
	if err != nil || newest == 0 {
		return nil, err
	}
	told, err := j.api(ctx, "INFO", `{"subjects_filter": %q}`, j.subject(stream))
	if err != nil {
		return nil, err
	}
	for m, err := j.next(ctx, stream, 1); ; m, err = j.next(ctx, stream, int(m.seq)+1) {
		if err != nil {
			return all, err
		}
		isDense := len(all) == 0 && newest-m.n+1 == told.State.Subjects[j.subject(stream)]
		for n := m.n; isDense && n < newest; n++ {
			all = append(all, n)
		}
		if isDense || m.n >= newest {
			return append(all, max(m.n, newest)), nil
		}
		all = append(all, m.n)
	}
}

func (j *jetStream) remove(ctx context.Context, stream string, upto int, keep func(n int) bool) error {
	if keep == nil {
		j.cursors.Delete(stream)
		_, err := j.api(ctx, "PURGE", `{"filter": %q}`, j.subject(stream))
		return err
	}
	newest, err := j.newest(ctx, stream)
	if err != nil || newest == 0 {
		return err
	}
	rest, err := j.find(ctx, stream, min(upto+1, newest))
	if errors.Is(err, ErrMissing) { // it is deleted, and what is before it
		return nil
	}
	if err == nil {
		_, err = j.api(ctx, "PURGE", `{"filter": %q, "seq": %d}`, j.subject(stream), rest.seq)
	}
	return err
}

func (j *jetStream) list(ctx context.Context, prefix string) (streams []string, err error) {
	if err := j.open(ctx); err != nil {
		return nil, err
	}
	below := prefix[:strings.LastIndexByte(prefix, '/')+1]
	listed := map[string]bool{}
	for more := true; more; {
		a, err := j.api(ctx, "INFO", `{"subjects_filter": %q, "offset": %d}`, j.subject(below)+">", len(listed))
		if err != nil {
			return nil, err
		}
		before := len(listed)
		for subject := range a.State.Subjects {
			listed[swap.Replace(strings.TrimPrefix(subject, j.subject("")))] = true
		}
		more = len(listed) < a.Total && len(listed) > before
	}
	return slices.Collect(maps.Keys(listed)), nil
}

func (j *jetStream) watch(ctx context.Context, signal func(), stream string) {
	defer j.conn.FlushTimeout(answerTime)
	sub, err := j.conn.Subscribe("told."+j.subject(stream), func(*nats.Msg) { signal() })
	if err == nil {
		context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() })
	}
}
