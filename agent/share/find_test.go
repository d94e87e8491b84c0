package share

import (
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"lethe/internal/test/lethetest"
)

// jetStreamServer returns a server without JetStream, and a connection to it over which a test answers in its place.
func jetStreamServer(t testing.TB) (conn *nats.Conn, url string) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	lethetest.Must(t, err)
	s.Start()
	t.Cleanup(s.WaitForShutdown)
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not begin")
	}
	conn, err = nats.Connect(s.ClientURL())
	lethetest.Must(t, err)
	t.Cleanup(conn.Close)
	return conn, s.ClientURL()
}

// A search for a number ends at the first request that fails: each further one would wait for an answer as long.
func TestFindEndsAtTheFirstFailure(t *testing.T) {
	conn, _ := jetStreamServer(t)
	var asked atomic.Int64
	_, err := conn.Subscribe("$JS.API.STREAM.>", func(m *nats.Msg) {
		var a answer
		switch {
		case strings.Contains(string(m.Data), "last_by_subj"):
			a.Message.Seq, a.Message.Hdrs = 1_000_000, []byte("NATS/1.0\r\n"+numberHeader+": 1000\r\n\r\n")
		case strings.Contains(string(m.Data), "next_by_subj"):
			asked.Add(1)
			a.Error.Code, a.Error.Description = 10008, "not now"
		}
		text, _ := json.Marshal(a)
		_ = m.Respond(text)
	})
	lethetest.Must(t, errors.Join(err, conn.Flush()))
	j := &jetStream{conn: conn, home: "home", calls: "$JS.API.STREAM."}
	for name, find := range map[string]func() error{
		"get":    func() error { _, err := j.get(t.Context(), "lives/a", 7); return err },
		"create": func() error { return j.create(t.Context(), "lives/a", 8, []byte("text")) },
	} {
		asked.Store(0)
		if err := find(); err == nil || !strings.Contains(err.Error(), "not now") || asked.Load() != 1 {
			t.Errorf("%s: %v, after %d requests", name, err, asked.Load())
		}
	}
}
