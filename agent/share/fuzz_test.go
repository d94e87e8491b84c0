package share

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"lethe/internal/test/lethetest"
)

// What a store answers may be of any bytes, whatever was asked.
func FuzzAnswers(f *testing.F) {
	dir := lethetest.Dir(f)
	f.Setenv("AWS_ACCESS_KEY_ID", "id")
	f.Setenv("AWS_SECRET_ACCESS_KEY", "a-secret-of-tests")
	lethetest.FuzzReaders(f, dir,
		reader("directory", "directory/rooms/"+key("", 1), openDirectory(filepath.Join(dir, "directory")),
			string(frame([]byte("text"))), "lethe 1 2183\ncut", "lethe 1 -1\n", "lethe 1 9223372036854775808\n"),
		bucketReader(f, dir), jetStreamReader(f, dir))
}

func reader(name, file string, e engine, seeds ...string) lethetest.Reader {
	return lethetest.Reader{Name: name, File: file, Seeds: seeds, Read: func(t testing.TB) error { return asked(t, e) }}
}

// asked makes each call of an engine once.
func asked(t testing.TB, e engine) error {
	ctx, cancel := context.WithTimeout(t.Context(), answerTime)
	defer cancel()
	s := &store{engine: e, patience: answerTime}
	text, err := e.get(ctx, "rooms", 1)
	if len(text) > mostFramed {
		t.Fatalf("a text of %d bytes", len(text))
	}
	if err == nil {
		_, err = s.Get(ctx, "rooms", 1)
	}
	newest, newestErr := e.newest(ctx, "rooms")
	if newest < 0 || newest > MostNumber {
		t.Fatalf("the newest text is %d", newest)
	}
	names, listErr := s.List(ctx, "r")
	for _, name := range names {
		if check(name, 1) != nil || !strings.HasPrefix(name, "r") {
			t.Fatalf("a stream is called %q", name)
		}
	}
	return errors.Join(err, newestErr, listErr, e.create(ctx, "rooms", 2, []byte("text")),
		e.remove(ctx, "rooms", 9, func(n int) bool {
			if n < 1 {
				t.Fatalf("text %d is to be deleted", n)
			}
			return true
		}))
}

// mostAnswers is more than a server is asked for while one reader reads.
const mostAnswers = 500

// bucketReader reads what a server of buckets answers. Behind some answers it fails: listings of it may have no end.
func bucketReader(f *testing.F, dir string) lethetest.Reader {
	file, left := filepath.Join(dir, "bucket"), 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if left--; left < 0 {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		http.ServeFile(w, r, file)
	}))
	f.Cleanup(server.Close)
	e, err := openBucket(strings.TrimPrefix(server.URL, "http://"), "bucket/home", false, "")
	lethetest.Must(f, err)
	const list = `<ListBucketResult><IsTruncated>false</IsTruncated>%s</ListBucketResult>`
	var seeds []string
	for _, name := range []string{
		"rooms/999999/998", "rooms/1000000/000", "rooms/-00001/-01", "rooms/999999/998x", "../../etc", "rooms/999999/.tmp-1", "%ff",
	} {
		seeds = append(seeds, fmt.Sprintf(list, "<Contents><Key>home/"+name+"</Key></Contents>"),
			fmt.Sprintf(list, "<CommonPrefixes><Prefix>home/"+name+"/</Prefix></CommonPrefixes>"))
	}
	seeds = append(seeds, strings.Replace(seeds[0], "false</IsTruncated>",
		"true</IsTruncated><NextContinuationToken>x</NextContinuationToken>", 1), string(frame([]byte("text"))),
		"<Error><Code>NoSuchKey</Code></Error>", "<Error><Code>"+strings.Repeat("x", 2000)+"</Code></Error>")
	r := reader("bucket", "bucket", e, seeds...)
	read := r.Read
	r.Read = func(t testing.TB) error {
		left = 20
		return read(t)
	}
	return r
}

// jetStreamReader reads what JetStream answers.
func jetStreamReader(f *testing.F, dir string) lethetest.Reader {
	conn, url := jetStreamServer(f)
	var answers atomic.Int64
	_, err := conn.Subscribe("*.>", func(m *nats.Msg) {
		answers.Add(1)
		text, _ := os.ReadFile(filepath.Join(dir, "jetstream"))
		_ = m.Respond(text)
	})
	lethetest.Must(f, errors.Join(err, conn.Flush()))
	e, err := openJetStream(strings.TrimPrefix(url, "nats://"), "", false, "", "")
	lethetest.Must(f, err)
	f.Cleanup(e.close)
	const header = "TkFUUy8xLjANCkxldGhlLU46IDENCg0K" // NATS/1.0, Lethe-N: 1
	r := reader("jetstream", "jetstream", e, `{"message":{"seq":1,"hdrs":"`+header+`","data":"bGV0aGUgMSA0CnRleHQ="}}`,
		`{"message":{"seq":18446744073709551615,"hdrs":"`+header+`"}}`, `{"message":{"seq":9,"hdrs":"TkFUUy8xLjANCkxldGhlLU46IC0xDQoNCg=="}}`,
		`{"error":{"err_code":10037}}`, `{"error":{"err_code":-1,"description":"`+strings.Repeat("x", 2000)+`"}}`,
		`{"state":{"subjects":{"lethe.s.rooms":1,"x":-1,"lethe.s.../r":1}},"total":9}`, `{"total":1}`, `{"seq":18446744073709551615}`)
	read := r.Read
	r.Read = func(t testing.TB) error {
		answers.Store(0)
		err := read(t)
		if n := answers.Load(); n > mostAnswers {
			t.Fatalf("it asks %d times", n)
		}
		return err
	}
	return r
}
