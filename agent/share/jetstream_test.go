package share_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"lethe/agent/share"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/sharetest"
)

// One server keeps one copy, and has all but the elections of three.
func TestJetStream(t *testing.T) {
	t.Parallel()
	c := sharetest.NATS(t, 1, false)
	sharetest.Contract(t, c.URL("contract"))
	each(t, map[string]func(t *testing.T){
		"away": func(t *testing.T) {
			var f sharetest.Faults
			url := c.URL("away", f.NATS(t, c.Addresses()[0]))
			sharetest.Away(t, url, func() { f.Away.Store(true) }, func() { f.Away.Store(false) })
		},
		"race": func(t *testing.T) {
			f := sharetest.Each(10, 20)
			r := sharetest.Race{URL: c.URL("race", f.NATS(t, c.Addresses()[0])), Direct: c.URL("race"), Stream: "race",
				Goroutines: 4, Processes: 2, Torment: true, For: 2 * span(), Least: 40}
			r.Run(t)
			f.Tell(t)
		},
		"probe": func(t *testing.T) { probeJetStream(t, c) },
		"holes": func(t *testing.T) { holes(t, c) },
	})
}

// A user has TLS, a password, and the permissions that the page names.
func TestJetStreamGuarded(t *testing.T) {
	own := httptest.NewTLSServer(nil) // for its certificate, which is its own authority
	own.Close()
	certificate := own.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	lethetest.Must(t, err)
	dir := t.TempDir()
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(dir, name)
		lethetest.Write(t, path, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})))
		return path
	}
	var may []string
	for permission := range strings.SplitSeq("$JS.API.STREAM.*.home $JS.API.STREAM.MSG.GET.home home.>", " ") {
		may = append(may, permission)
		lethetest.Words(t, lethetest.Read(t, "../../docs/machines.md"), "`"+permission+"`")
	}
	g := &sharetest.Guard{User: "me", Password: "a-password-0", Publish: may,
		Subscribe: []string{"told.home.>", "_INBOX.>"},
		CertFile:  write("cert.pem", "CERTIFICATE", certificate.Certificate[0]),
		KeyFile:   write("key.pem", "PRIVATE KEY", key)}
	url := "tls://" + sharetest.Guarded(t, g) + "/home"
	refused := func(words string) {
		t.Helper()
		s := sharetest.Open(t, url, 100*time.Millisecond)
		lethetest.Eventually(t, words, func() bool {
			_, err := s.Newest(t.Context(), "keys", 0)
			if !errors.Is(err, share.ErrAway) {
				t.Fatalf("a stranger is told %v", err)
			}
			return strings.Contains(err.Error(), words)
		})
	}
	refused("no connection")
	t.Setenv("NATS_CA", g.CertFile)
	t.Setenv("NATS_USER", "me")
	t.Setenv("NATS_PASSWORD", "another-password-0")
	refused("Authorization Violation")
	t.Setenv("NATS_PASSWORD", g.Password)
	sharetest.Contract(t, url)
}

func probeJetStream(t *testing.T, c *sharetest.Cluster) {
	const good, warning, trouble = share.OK, share.Warning, share.Trouble
	found(t, c.URL("probe"), []string{good, warning}, "has num_replicas 1, not 3: nats stream edit probe")
	found(t, strings.Split(c.URL("probe"), "?")[0], []string{good, warning, warning}, ":8222", "set sync_interval: always")
	conn, err := nats.Connect(c.Addresses()[0])
	lethetest.Must(t, err)
	defer conn.Close()
	_, err = conn.Request("$JS.API.STREAM.UPDATE.probe", []byte(`{"name": "probe", "subjects": ["probe.>"],
		"storage": "file", "num_replicas": 1, "retention": "limits", "discard": "old", "max_age": 1000000000000,
		"max_bytes": -1, "max_msgs": -1, "max_msgs_per_subject": 5, "max_msg_size": -1, "allow_direct": true}`), time.Minute)
	lethetest.Must(t, err)
	found(t, c.URL("probe"), []string{good, trouble, trouble, trouble, trouble, warning, warning},
		"discard old, not new", "max_age 1e+12, not 0", "max_msgs_per_subject 5, not -1", "allow_direct true, not false",
		"republish")
	unfit(t, c.URL("probe"), "lives/a", 1, "allow_direct true, not false: nats stream edit probe")
	lazy := sharetest.NATS(t, 1, true)
	found(t, lazy.URL("probe"), []string{good, warning, warning}, "two minutes can be lost with the power")
}

// The leader is killed, or stopped for a while. That no text is kept and no take looks again shows that JetStream
// refuses a stale host by itself.
func TestJetStreamCluster(t *testing.T) {
	t.Parallel()
	c := sharetest.NATS(t, 3, false)
	f := sharetest.Each(50, 50)
	var proxies []string
	for _, address := range c.Addresses() {
		proxies = append(proxies, f.NATS(t, address))
	}
	length := 8*time.Second + span()
	if lethetest.Long() {
		length = 10 * time.Minute
	}
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() { c.Torment(ctx, "home") })
	all.Go(func() {
		h := sharetest.Holders{URL: c.URL("home"), Direct: c.URL("home"), Stream: "life", Hosts: 4, For: length,
			Keep: func(bool) bool { return false }, Once: true}
		h.Run(t)
	})
	r := sharetest.Race{URL: c.URL("home", proxies...), Direct: c.URL("home"), Stream: "race", Goroutines: 4,
		Processes: 2, Torment: true, For: length, Least: 100}
	r.Run(t)
	all.Wait()
}

// A listing shows a message that somebody has deleted.
func holes(t *testing.T, c *sharetest.Cluster) {
	s := sharetest.Open(t, c.URL("holes"), 0)
	for n := range 6 {
		lethetest.Must(t, s.Create(t.Context(), "lives/a", n+1, []byte{byte('1' + n)}))
	}
	conn, err := nats.Connect(c.Addresses()[0])
	lethetest.Must(t, err)
	defer conn.Close()
	_, err = conn.Request("$JS.API.STREAM.MSG.DELETE.holes", []byte(`{"seq": 4}`), 5*time.Second) // the first is of doctor
	lethetest.Must(t, err)
	all, err := s.Numbers(t.Context(), "lives/a")
	if err != nil || !slices.Equal(all, []int{1, 2, 4, 5, 6}) {
		t.Errorf("%v, %v", all, err)
	}
}
