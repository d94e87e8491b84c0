package serve

import (
	"cmp"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"lethe/bridge"
	"lethe/bridge/serve/backend"
	"lethe/bridge/serve/guard"
	"lethe/internal/durable"
	"lethe/internal/secret"
)

const (
	// DefaultAddress stands in for an address that is not set.
	DefaultAddress = "127.0.0.1:8420"
	// Off as a socket opens no socket.
	Off = "off"

	longestSocket = 103 // bytes of a path that every system takes
)

// ErrToken is wrapped where a token's file cannot be used.
var ErrToken = errors.New("read the token")

// TokenFile is the file with the token that clients have to show.
func TokenFile(home string) string { return filepath.Join(dir(home), "token") }

// Token reads the token of a home. At first it makes one.
func Token(home string) (string, error) { return makeToken(TokenFile(home), newToken) }

func newToken() string { return "lethe-" + rand.Text() + rand.Text() }

// PushKeyFile is the file with the key that shows push services this server.
func PushKeyFile(home string) string { return filepath.Join(dir(home), "push.key") }

// makeToken reads a token from a file, which is made if it is missing.
func makeToken(path string, fresh func() string) (string, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return "", err
		}
		if err := durable.WriteFile(path, []byte(fresh()+"\n"), 0o600); err != nil {
			return "", err
		}
	}
	return ReadToken(path)
}

// ReadToken reads a token from a file of its owner alone: see bridge.ReadToken.
func ReadToken(path string) (string, error) {
	const most = 1 << 10 // bytes
	inForm := func(token string) bool { return len(token) >= 16 && !strings.ContainsFunc(token, unprintable) }
	wrong := fmt.Errorf("%s does not hold one of at least 16 letters, digits and signs in one line; "+
		"remove it to have a new one", path)
	token, err := bridge.ReadToken(path, most, inForm, wrong)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrToken, err)
	}
	secret.Add(token)
	return token, nil
}

// unprintable reports whether a letter is no sign of ASCII.
func unprintable(r rune) bool { return r <= ' ' || r > '~' }

// listen opens the listeners of the server, and returns the address for people.
func (c Config) listen() (all []net.Listener, url string, err error) {
	defer func() {
		if err != nil {
			for _, l := range all {
				l.Close()
			}
		}
	}()
	host, port, err := net.SplitHostPort(cmp.Or(c.Address, DefaultAddress))
	if err != nil {
		return nil, "", fmt.Errorf("listen: %q is not an address with a port", c.Address)
	}
	loopback := guard.IsLoopback(host)
	safe := loopback || c.Cert != ""
	if !safe && !c.Unencrypted {
		return nil, "", fmt.Errorf("listen on %s without TLS: %w", c.Address, ErrUnencrypted)
	}
	first, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, "", err
	}
	all = append(all, first)
	if loopback {
		others, err := listenBeside(first, port == "0")
		all = append(all, others...)
		if err != nil {
			return all, "", err
		}
	}
	_, port, _ = net.SplitHostPort(first.Addr().String())
	scheme := "http"
	if c.Cert != "" {
		scheme = "https"
		if err := c.encrypt(all); err != nil {
			return all, "", err
		}
	}
	socket, err := c.listenSocket()
	if socket != nil {
		all = append(all, socket)
	}
	return all, scheme + "://" + net.JoinHostPort(host, port), err
}

// listenBeside opens the loopback addresses at the port of the first listener, since a browser may try either. It fails
// where another program has one, unless the system has chosen the port.
func listenBeside(first net.Listener, chosen bool) (others []net.Listener, err error) {
	at := first.Addr().(*net.TCPAddr)
	for _, host := range []string{"127.0.0.1", "::1"} {
		listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(at.Port)))
		if err == nil {
			others = append(others, listener)
		}
		ours := chosen || host == at.IP.String()
		if errors.Is(err, syscall.EADDRINUSE) && !ours {
			return others, err
		}
	}
	return others, nil
}

// encrypt puts TLS over listeners. It speaks HTTP/1, where the guard's deadlines hold for a connection.
func (c Config) encrypt(all []net.Listener) error {
	cert, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return fmt.Errorf("read the certificate: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{cert}}
	for i, listener := range all {
		all[i] = tls.NewListener(listener, config)
	}
	return nil
}

// socket returns the path of the Unix socket, or "" where there is to be no socket.
func (c Config) socket() string {
	path := cmp.Or(c.Socket, filepath.Join(dir(c.Home.Dir), "socket"))
	if path == Off || len(path) > longestSocket {
		return ""
	}
	return path
}

// listenSocket opens the Unix socket, and removes a socket that a killed server has left: since this process has the
// bridge, it belongs to nobody.
func (c Config) listenSocket() (net.Listener, error) {
	path := c.socket()
	if path == "" {
		if c.Socket != Off {
			c.Log.Info("there is no socket: its path in the home would be too long; " +
				"name another one in socket of [serve]")
		}
		return nil, nil
	}
	fi, err := os.Lstat(path)
	if err == nil && fi.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("listen on %s: something else is there", path)
	}
	if err == nil {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	before := syscall.Umask(0o177) // it is for its owner alone from the start
	defer syscall.Umask(before)
	return net.Listen("unix", path)
}

// hosts returns the names at which the page is, beside its own.
func (c Config) hosts() (names []string) {
	host, _, _ := net.SplitHostPort(strings.ToLower(cmp.Or(c.Address, DefaultAddress)))
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.String()
	}
	everywhere := slices.Contains([]string{"", "0.0.0.0", "::"}, host) // then the Host is one of many
	if !everywhere && !guard.IsLoopback(host) {
		names = append(names, host)
	}
	for _, name := range c.Hosts {
		names = append(names, strings.ToLower(name))
	}
	return names
}

// page returns the address of login links: without hosts an address of this machine, which leads on to the host of the
// page.
func (c Config) page(url string) string {
	scheme, address, _ := strings.Cut(url, "://")
	host, port, _ := net.SplitHostPort(address)
	proxied := scheme == "http" && guard.IsLoopback(host)
	switch {
	case len(c.Hosts) > 0 && proxied:
		return "https://" + c.Hosts[0] // a reverse proxy stands before it
	case len(c.Hosts) > 0:
		host = c.Hosts[0]
	case host == "0.0.0.0", host == "::":
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// Link makes a login link of the running server of a home, as Ready's link does.
func Link(config Config) (string, error) {
	health := bridge.HealthOf(config.Home.Dir, backend.Name)
	if !health.Runs() || health.Listening == "" {
		return "", fmt.Errorf("make a login link: the server is %s", health.State)
	}
	token, err := ReadToken(TokenFile(config.Home.Dir))
	return config.page(health.Listening) + guard.Link(token), err
}
