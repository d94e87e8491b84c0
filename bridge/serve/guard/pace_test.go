package guard_test

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lethe/bridge/serve/guard"
	"lethe/internal/test/lethetest"
)

// pipes is a listener in memory, whose time is the test's.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// Clients that send nothing, or too slowly, or take nothing, are cut off; streams on which nothing
// happens and clients that take their time are not.
func TestSlowClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := guard.New(guard.Config{Token: "one", Log: slog.New(slog.DiscardHandler)})
		lethetest.Must(t, err)
		mux, ended := http.NewServeMux(), make(chan error, 1)
		mux.HandleFunc("/read", func(w http.ResponseWriter, r *http.Request) {
			text, err := io.ReadAll(r.Body)
			if err == nil {
				time.Sleep(time.Hour) // it thinks about it
				_, err = w.Write(text)
			}
			ended <- err
		})
		mux.HandleFunc("/write", func(w http.ResponseWriter, r *http.Request) {
			var err error
			for err == nil {
				_, err = w.Write(make([]byte, 1<<16))
			}
			ended <- err
		})
		mux.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
			var err error
			for range 3 {
				if _, err = w.Write([]byte("more\n")); err == nil {
					err = http.NewResponseController(w).Flush()
				}
				time.Sleep(time.Hour)
			}
			ended <- err
		})
		listener := make(pipes)
		srv := g.Server(mux)
		go srv.Serve(listener) // ends with the listener
		dial := func(text string) net.Conn {
			client, server := net.Pipe()
			listener <- server
			_, err := client.Write([]byte(text))
			lethetest.Must(t, err)
			return client
		}
		ask := func(path, rest string) net.Conn {
			return dial("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer one\r\n" + rest)
		}
		lasts := func(what string, c net.Conn, want time.Duration) {
			began := time.Now()
			_, _ = io.Copy(io.Discard, c)
			if took := time.Since(began); took < want || took > want+6*time.Second {
				t.Errorf("%s: cut off after %v", what, took)
			}
			c.Close()
		}
		lasts("a client that sends nothing", dial("G"), 10*time.Second)
		lasts("half a header", ask("/read", "X-Y"), 10*time.Second)
		lasts("half a body", ask("/read", "Content-Length: 10\r\n\r\nhalf"), 30*time.Second)
		if err := <-ended; err == nil {
			t.Error("half a body is taken for a whole one")
		}

		c := ask("/write", "Content-Length: 0\r\n\r\n")
		if err := <-ended; err == nil {
			t.Error("a client that takes nothing keeps the handler")
		}
		c.Close()

		c = ask("/read", "Content-Length: 8\r\n\r\n")
		for _, piece := range []string{"a ", "sl", "ow", " 1"} {
			time.Sleep(20 * time.Second)
			_, err := c.Write([]byte(piece))
			lethetest.Must(t, err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		lethetest.Must(t, err)
		text := make([]byte, 8)
		if _, err := io.ReadFull(resp.Body, text); err != nil || string(text) != "a slow 1" {
			t.Errorf("a slow body: %q, %v", text, err)
		}
		lethetest.Must(t, <-ended)
		c.Close()

		c = ask("/stream", "Connection: close\r\nContent-Length: 0\r\n\r\n")
		all, err := io.ReadAll(c)
		lethetest.Must(t, err)
		if err := <-ended; err != nil || strings.Count(string(all), "more") != 3 {
			t.Errorf("a slow stream: %q, %v", all, err)
		}
		close(listener)
		lethetest.Must(t, srv.Close())
	})
}
