package sharetest

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lethe/internal/test/lethetest"
)

// Faults steers a proxy. It can change while the proxy runs.
type Faults struct {
	Lose atomic.Int64 // each so many answers are lost; 0: every answer comes
	Late atomic.Int64 // each so many requests get no answer, and arrive up to a second later, some twice
	Away atomic.Bool  // connections are refused, and those there are end
	Deaf atomic.Bool  // requests do not arrive; answers do
	// Before, if set, sees each HTTP request first.
	Before func(*http.Request)

	lost atomic.Int64
	late atomic.Int64
}

// Each returns faults of each so many answers and requests.
func Each(lose, late int64) *Faults {
	f := &Faults{}
	f.Lose.Store(lose)
	f.Late.Store(late)
	return f
}

func each(n, counter *atomic.Int64) bool {
	every := n.Load()
	if every == 0 || rand.Int64N(every) > 0 {
		return false
	}
	counter.Add(1)
	return true
}

// Tell logs what a proxy has done; there must have been something.
func (f *Faults) Tell(t testing.TB) {
	t.Helper()
	t.Logf("%d answers lost, %d requests late", f.lost.Load(), f.late.Load())
	if f.lost.Load() == 0 {
		t.Error("the proxy lost nothing")
	}
}

func soon() time.Duration { return time.Duration(rand.Int64N(int64(time.Second))) }

// HTTP is a proxy before an HTTP server; it returns its address.
func (f *Faults) HTTP(t testing.TB, server string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100}}
	forward := func(r *http.Request, body []byte) (*http.Response, error) {
		out, _ := http.NewRequest(r.Method, "http://"+server+r.URL.RequestURI(), bytes.NewReader(body))
		out.Header, out.Host = r.Header.Clone(), r.Host
		return client.Do(out)
	}
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		isUnreachable := f.Away.Load() || f.Deaf.Load()
		if err != nil || isUnreachable {
			panic(http.ErrAbortHandler)
		}
		if f.Before != nil {
			f.Before(r)
		}
		if r.Method == http.MethodPut && each(&f.Late, &f.late) {
			r := r.Clone(t.Context())
			time.AfterFunc(soon(), func() {
				if out, err := forward(r, body); err == nil {
					out.Body.Close()
				}
			})
			panic(http.ErrAbortHandler)
		}
		out, err := forward(r, body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer out.Body.Close()
		if each(&f.Lose, &f.lost) {
			panic(http.ErrAbortHandler)
		}
		for name, values := range out.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(out.StatusCode)
		_, _ = io.Copy(w, out.Body)
	}))
	p.Config.ErrorLog = nil
	t.Cleanup(p.Close)
	t.Cleanup(client.CloseIdleConnections)
	return strings.TrimPrefix(p.URL, "http://")
}

// NATS is a proxy before a NATS server; it returns its address.
func (f *Faults) NATS(t testing.TB, server string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	lethetest.Must(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			behind, err := net.Dial("tcp", server)
			if err != nil || f.Away.Load() {
				client.Close()
				continue
			}
			t.Cleanup(func() { client.Close(); behind.Close() })
			go f.pass(client, behind, func(frame []byte) bool {
				if f.Deaf.Load() && bytes.Contains(frame[:5], []byte("PUB ")) {
					return false
				}
				late := bytes.HasPrefix(frame, []byte("HPUB ")) && each(&f.Late, &f.late)
				if late {
					for range 1 + rand.IntN(2) {
						time.AfterFunc(soon(), func() { _, _ = behind.Write(frame) })
					}
				}
				return !late
			})
			go f.pass(behind, client, func(frame []byte) bool {
				answer := bytes.HasPrefix(frame, []byte("MSG ")) || bytes.HasPrefix(frame, []byte("HMSG "))
				return !answer || !each(&f.Lose, &f.lost)
			})
		}
	}()
	return listener.Addr().String()
}

// pass copies the frames of NATS's protocol that good lets through, until one side ends.
func (f *Faults) pass(from, to net.Conn, good func(frame []byte) bool) {
	defer from.Close()
	defer to.Close()
	in := bufio.NewReaderSize(from, 1<<16)
	for {
		frame, err := in.ReadBytes('\n')
		words := strings.Fields(string(frame))
		if err != nil || f.Away.Load() {
			return
		}
		if len(words) > 2 && strings.Contains("PUB HPUB MSG HMSG", words[0]) {
			size, _ := strconv.Atoi(words[len(words)-1])
			payload := make([]byte, size+2)
			if _, err := io.ReadFull(in, payload); err != nil {
				return
			}
			frame = append(frame, payload...)
		}
		if !good(frame) {
			continue
		}
		if _, err := to.Write(frame); err != nil {
			return
		}
	}
}
