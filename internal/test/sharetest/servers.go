// Package sharetest has servers for stores, as processes that can be killed and stopped, proxies that lose and delay
// what passes, and the contract that each store keeps.
//
// A test binary that uses it calls Main or Serve from TestMain: the processes are the binary itself.
package sharetest

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"

	"lethe/internal/test/lethetest"
)

const roleVariable = "LETHE_SHARETEST"

// Main runs the tests, which may leave behind neither a goroutine nor a process.
func Main(m *testing.M) {
	Serve()
	goleak.VerifyTestMain(m)
}

// Serve does not return in a process that a test has started.
func Serve() {
	role := os.Getenv(roleVariable)
	if role == "" {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	if orders, is := strings.CutPrefix(role, "write "); is {
		write(orders)
	} else {
		serve(role)
	}
}

// process is a process of this binary in a role, or another program. It ends with the test, and with this process,
// however that ends: its standard input ends then.
type process struct {
	*exec.Cmd
	input io.Closer
}

func start(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	lethetest.Must(t, err)
	lethetest.Must(t, cmd.Start())
	return &process{cmd, input}
}

// run starts a process of this binary, which kill ends. What it prints goes to out.
func run(t testing.TB, role string, out *os.File, via ...string) *process {
	t.Helper()
	path, err := os.Executable()
	lethetest.Must(t, err)
	via = append(via, path)
	cmd := exec.Command(via[0], via[1:]...)
	cmd.Env, cmd.Stdout = append(os.Environ(), roleVariable+"="+role), out
	return start(t, cmd)
}

func (p *process) kill() {
	_ = p.Process.Kill()
	_ = p.Wait()
}

// node is the set-up of one NATS server.
type node struct {
	Name, Dir           string
	Port, Peer, Monitor int
	Peers               []int // of all servers of the cluster
	Lazy                bool  // without sync_interval: always
	Guard               *Guard
	Host, Space         string // its address, 127.0.0.1 unless said, and the network namespace that has it
	Config              string // lines of a configuration file; instead of a Guard
}

func (n node) host() string {
	if n.Host != "" {
		return n.Host
	}
	return "127.0.0.1"
}

// Guard makes a server insist on TLS and on a user, who may publish and subscribe to the named subjects.
type Guard struct {
	CertFile, KeyFile, User, Password string
	Publish, Subscribe                []string
}

func (g *Guard) set(o *server.Options) error {
	pair, err := tls.LoadX509KeyPair(g.CertFile, g.KeyFile)
	o.TLSConfig, o.TLS, o.TLSTimeout = &tls.Config{Certificates: []tls.Certificate{pair}}, true, 10
	o.Users = []*server.User{{Username: g.User, Password: g.Password, Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: g.Publish},
		Subscribe: &server.SubjectPermission{Allow: g.Subscribe},
	}}}
	return err
}

// serve is the role of a NATS server.
func serve(role string) {
	var node node
	if err := json.Unmarshal([]byte(role), &node); err != nil {
		panic(err)
	}
	options := &server.Options{
		ServerName: node.Name, Host: node.host(), Port: node.Port, HTTPHost: node.host(), HTTPPort: node.Monitor,
		JetStream: true, StoreDir: node.Dir, SyncAlways: !node.Lazy, NoLog: os.Getenv("LETHE_NATS_LOG") == "", NoSigs: true,
	}
	if len(node.Peers) > 0 {
		options.Cluster = server.ClusterOpts{Name: "home", Host: node.host(), Port: node.Peer, NoAdvertise: true}
	}
	for k, peer := range node.Peers {
		at := "127.0.0.1"
		if node.Host != "" {
			at = SpaceHost(k)
		}
		options.Routes = append(options.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("%s:%d", at, peer)})
	}
	if node.Config != "" {
		if err := options.ProcessConfigString(node.Config); err != nil {
			panic(err)
		}
	}
	if node.Guard != nil {
		if err := node.Guard.set(options); err != nil {
			panic(err)
		}
	}
	s, err := server.NewServer(options)
	if err != nil {
		panic(err)
	}
	s.ConfigureLogger()
	s.Start()
	s.WaitForShutdown()
}

// ports returns ports that are free now.
func ports(t testing.TB, n int) []int {
	t.Helper()
	var out []int
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		lethetest.Must(t, err)
		defer listener.Close()
		out = append(out, listener.Addr().(*net.TCPAddr).Port)
	}
	return out
}

// Cluster is NATS servers in processes of their own.
type Cluster struct {
	t     testing.TB
	nodes []node
	runs  []*process
}

// NATS starts one server or three, which sync each write unless they are lazy, and waits until they serve.
func NATS(t testing.TB, servers int, lazy bool) *Cluster {
	t.Helper()
	cluster := &Cluster{t: t, runs: make([]*process, servers)}
	free := ports(t, 3*servers)
	dir := t.TempDir()
	for i := range servers {
		node := node{Name: fmt.Sprint("n", i), Dir: filepath.Join(dir, fmt.Sprint(i)), Lazy: lazy}
		node.Port, node.Peer, node.Monitor = free[i], free[servers+i], free[2*servers+i]
		if servers > 1 {
			node.Peers = free[servers : 2*servers]
		}
		cluster.nodes = append(cluster.nodes, node)
	}
	for i := range servers {
		cluster.Start(i)
	}
	return cluster
}

// Space names a network namespace of a trial, and SpaceHost is the address in it.
func Space(k int) string { return fmt.Sprint("lethe-trial-", k) }

// SpaceHost is the address of Space k.
func SpaceHost(k int) string { return fmt.Sprint("10.59.0.", k+1) }

// NATSInSpaces starts three servers, each in a namespace of its own that is there.
func NATSInSpaces(t testing.TB) *Cluster {
	t.Helper()
	cluster := &Cluster{t: t, runs: make([]*process, 3)}
	for k := range cluster.runs {
		cluster.nodes = append(cluster.nodes, node{
			Name: fmt.Sprint("n", k), Dir: filepath.Join(t.TempDir(), fmt.Sprint(k)), Port: 4222, Peer: 6222, Monitor: 8222,
			Peers: []int{6222, 6222, 6222}, Host: SpaceHost(k), Space: Space(k),
		})
	}
	for k := range cluster.runs {
		cluster.Start(k)
	}
	return cluster
}

// Guarded starts one server with a guard, and returns its address.
func Guarded(t testing.TB, g *Guard) string {
	t.Helper()
	free := ports(t, 2)
	cluster := &Cluster{t: t, runs: make([]*process, 1)}
	cluster.nodes = []node{{Name: "n0", Dir: t.TempDir(), Port: free[0], Monitor: free[1], Guard: g}}
	cluster.Start(0)
	return cluster.Addresses()[0]
}

// Set puts lines of a configuration file into force at a server, which is started anew.
func (c *Cluster) Set(i int, config string) {
	c.nodes[i].Config = config
	c.Kill(i)
	c.Start(i)
}

// Start starts a server that does not run.
func (c *Cluster) Start(i int) {
	role, err := json.Marshal(c.nodes[i])
	lethetest.Must(c.t, err)
	var via []string
	if space := c.nodes[i].Space; space != "" {
		via = []string{"ip", "netns", "exec", space}
	}
	c.runs[i] = run(c.t, string(role), nil, via...)
	c.t.Cleanup(c.runs[i].kill)
}

// Kill is kill -9.
func (c *Cluster) Kill(i int) { c.runs[i].kill() }

// Addresses returns where clients reach the servers.
func (c *Cluster) Addresses() (all []string) {
	for _, n := range c.nodes {
		all = append(all, fmt.Sprintf("%s:%d", n.host(), n.Port))
	}
	return all
}

// URL returns the URL of a home in the cluster, by way of proxies if there are any.
func (c *Cluster) URL(home string, proxies ...string) string {
	if len(proxies) == 0 {
		proxies = c.Addresses()
	}
	return fmt.Sprintf("nats://%s/%s?monitor=%d", strings.Join(proxies, ","), home, c.nodes[0].Monitor)
}

// Leader returns the number of the server that leads the JetStream stream of a home, or -1.
func (c *Cluster) Leader(home string) int {
	client := http.Client{Timeout: time.Second}
	for i, node := range c.nodes {
		var told struct {
			Accounts []struct {
				Streams []struct {
					Name    string
					Cluster struct{ Leader string }
				} `json:"stream_detail"`
			} `json:"account_details"`
		}
		got, err := client.Get(fmt.Sprintf("http://%s:%d/jsz?streams=true", node.host(), node.Monitor))
		if err != nil {
			continue
		}
		err = json.NewDecoder(got.Body).Decode(&told)
		got.Body.Close()
		for _, account := range told.Accounts {
			for _, stream := range account.Streams {
				leads := stream.Name == home && stream.Cluster.Leader == node.Name
				if err == nil && leads {
					return i
				}
			}
		}
	}
	return -1
}

// Torment kills the leader of a home and starts it again, or stops it for a while, in turns until ctx ends.
func (c *Cluster) Torment(ctx context.Context, home string) {
	sleep := func(length time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(length):
		}
	}
	for kill := true; ctx.Err() == nil; {
		sleep(time.Second)
		i := c.Leader(home)
		if i < 0 || ctx.Err() != nil {
			continue
		}
		if kill {
			c.Kill(i)
			sleep(3 * time.Second)
			c.Start(i)
		} else {
			_ = c.runs[i].Process.Signal(syscall.SIGSTOP)
			sleep(2*time.Second + 10*soon())
			_ = c.runs[i].Process.Signal(syscall.SIGCONT)
		}
		sleep(10 * time.Second)
		kill = !kill
	}
}

// Messages returns how many messages the clients that are connected have sent to the servers and got from them.
func (c *Cluster) Messages() (all int64) {
	for _, node := range c.nodes {
		var told struct {
			Connections []struct {
				In  int64 `json:"in_msgs"`
				Out int64 `json:"out_msgs"`
			}
		}
		got, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/connz", node.Monitor))
		lethetest.Must(c.t, err)
		lethetest.Must(c.t, json.NewDecoder(got.Body).Decode(&told))
		got.Body.Close()
		for _, client := range told.Connections {
			all += client.In + client.Out
		}
	}
	return all
}
