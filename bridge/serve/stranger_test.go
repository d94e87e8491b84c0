package serve

import (
	"bufio"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"lethe/agent/home"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
	"lethe/bridge/serve/guard"
	"lethe/internal/test/lethetest"
)

// peers is a listener in memory, whose time is the test's.
type peers chan net.Conn

func (p peers) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p peers) Close() error   { return nil }
func (p peers) Addr() net.Addr { return &net.UnixAddr{} }

// peer is a connection of a client at an address.
type peer struct {
	net.Conn
	address string
}

func (p peer) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(p.address))
}

// The body of somebody who shows no token has one time for all of it, however it is dripped. Who waits in vain for a
// place is told, and strangers of one address take no place of another one's.
func TestBodyOfStranger(t *testing.T) {
	home, err := home.Open(lethetest.Dir(t))
	lethetest.Must(t, err)
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		g, err := guard.New(guard.Config{Token: "one", Log: log})
		lethetest.Must(t, err)
		mux, listener := http.NewServeMux(), make(peers)
		c := Config{Home: report.Home{Home: home}, Settings: Settings{Hooks: map[string]Hook{"github": {"ada", "gh"}}}}
		lethetest.Must(t, c.webhooks(mux, &backend.Backend{Log: log}, g))
		srv := g.Server(mux)
		go srv.Serve(listener) // ends with the listener
		// send sends a body under a signature that proves to be wrong, some bytes every ten seconds, and tells the status.
		send := func(address, body string, piece int) <-chan string {
			client, server := net.Pipe()
			listener <- peer{server, address}
			go func() { // ends with the connection
				fmt.Fprintf(client, "POST /hooks/github HTTP/1.1\r\nHost: localhost\r\nX-Hub-Signature-256: sha256=00\r\n"+
					"Content-Length: %d\r\n\r\n", len(body))
				for ; len(body) > 0; body = body[min(piece, len(body)):] {
					if _, err := client.Write([]byte(body[:min(piece, len(body))])); err != nil {
						return
					}
					time.Sleep(10 * time.Second)
				}
			}()
			began, answered := time.Now(), make(chan string, 1)
			go func() { // ends with the connection
				resp, err := http.ReadResponse(bufio.NewReader(client), nil)
				lethetest.Must(t, err)
				answered <- fmt.Sprint(resp.StatusCode, " after ", time.Since(began))
				client.Close()
			}()
			return answered
		}
		said := map[string]int{}
		var all []<-chan string
		for i := range 6 {
			all = append(all, send(fmt.Sprintf("[2001:db8::%d]:1", i), "a body that comes in drops", 1))
			synctest.Wait()
		}
		lethetest.Equal(t, "a whole body from another address", <-send("192.0.2.1:1", "a whole body", 100), "401 after 0s")
		for _, answered := range all {
			said[<-answered]++
		}
		if said["408 after 20s"] < 4 || said["408 after 20s"]+said["503 after 20s"] != 6 { // a place may be free at that moment
			t.Errorf("dripped bodies get %v", said)
		}
		lethetest.Equal(t, "a slow body", <-send("[2001:db8::1]:1", "a body in two pieces", 10), "401 after 10s")
		close(listener)
		lethetest.Must(t, srv.Close())
		time.Sleep(time.Minute) // the senders find out
	})
}
