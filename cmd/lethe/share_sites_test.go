//go:build unix

package main_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	_ "unsafe" // for linkname

	"golang.org/x/sync/errgroup"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/agent/share/hosts"
	"lethe/blobs"
	"lethe/internal/seal"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/sharetest"
)

// Of package hosts. No program can set them: a test that runs processes sets them in its own.
var (
	//go:linkname renewEvery lethe/agent/share/hosts.renewEvery
	renewEvery time.Duration
	//go:linkname aloneEvery lethe/agent/share/hosts.aloneEvery
	aloneEvery time.Duration
	//go:linkname silentFor lethe/agent/share/hosts.silentFor
	silentFor time.Duration
)

// paceOf has a daemon say more often than others do that it is there: "200ms 1s", renewEvery and silentFor.
const paceOf = "LETHE_TEST_PACE"

func hurry() {
	renew, silent, found := strings.Cut(os.Getenv(paceOf), " ")
	if !found {
		return
	}
	r, rerr := time.ParseDuration(renew)
	s, serr := time.ParseDuration(silent)
	if rerr != nil || serr != nil {
		panic(os.Getenv(paceOf))
	}
	renewEvery, aloneEvery, silentFor = r, r, s
}

// engine is where hosts meet.
type engine struct {
	name   string
	url    func(host int) string
	cut    func(host int, way string) // its requests do not arrive, its answers do not, or both
	heal   func(host int)
	leader func()                  // kills what leads, and starts it again
	via    func(host int) []string // begins the commands of a host; may be nil
}

const (
	deaf = "requests lost"
	mute = "answers lost"
	away = "away"
)

func directoryEngine(t testing.TB, count int) *engine {
	dir := lethetest.Dir(t)
	store := filepath.Join(dir, "store")
	lethetest.Must(t, os.Mkdir(store, 0o700))
	link := func(host int) string { return filepath.Join(dir, fmt.Sprint("mount", host)) }
	heal := func(host int) { _ = os.Symlink(store, link(host)) }
	for k := range count {
		heal(k)
	}
	return &engine{
		name: "directory", heal: heal, url: func(host int) string { return "file://" + link(host) },
		cut: func(host int, _ string) { _ = os.Remove(link(host)) },
	}
}

// cutBy makes an engine of proxies, one for each host, that lose each so many answers anyway.
func cutBy(name string, faults []*sharetest.Faults, lose int64, urls []string) *engine {
	return &engine{
		name: name, url: func(host int) string { return urls[host] },
		cut: func(host int, way string) {
			switch f := faults[host]; way {
			case deaf:
				f.Deaf.Store(true)
			case mute:
				f.Lose.Store(1)
			default:
				f.Away.Store(true)
			}
		},
		heal: func(host int) {
			faults[host].Lose.Store(lose)
			faults[host].Deaf.Store(false)
			faults[host].Away.Store(false)
		},
	}
}

func bucketEngine(t testing.TB, count int) *engine {
	gateway, lose := sharetest.Bucket(t), int64(10)
	sharetest.Keys()
	var faults []*sharetest.Faults
	var urls []string
	for range count {
		f := sharetest.Each(lose, 0)
		faults, urls = append(faults, f), append(urls, gateway.URL("home", f.HTTP(t, gateway.Address)))
	}
	return cutBy("bucket", faults, lose, urls)
}

func natsEngine(t testing.TB, count int) *engine {
	cluster := sharetest.NATS(t, 3, false)
	var faults []*sharetest.Faults
	var urls []string
	for range count {
		f := &sharetest.Faults{}
		var proxies []string
		for _, address := range cluster.Addresses() {
			proxies = append(proxies, f.NATS(t, address))
		}
		faults, urls = append(faults, f), append(urls, cluster.URL("home", proxies...))
	}
	e := cutBy("nats3", faults, 0, urls)
	e.leader = func() { killLeader(cluster) }
	return e
}

func killLeader(cluster *sharetest.Cluster) {
	if i := cluster.Leader("home"); i >= 0 {
		cluster.Kill(i)
		time.Sleep(3 * time.Second)
		cluster.Start(i)
	}
}

// site is one host of a home that several share: a directory, and a daemon that may be killed.
type site struct {
	testing.TB
	dir, program string
	via          []string // begins its commands
	env          []string
	err          lethetest.Log
	down         atomic.Bool // it cannot hear what is said at it

	mu     sync.Mutex
	daemon *exec.Cmd
	gone   chan struct{} // closed when daemon has ended
	ends   bool          // somebody has the daemon end
}

// newSites makes the hosts of a home, with one key.
func newSites(t testing.TB, e *engine, count int, settings string) (all []*site) {
	t.Helper()
	program, err := exec.LookPath("lethe")
	lethetest.Must(t, err)
	for k := range count {
		s := &site{TB: t, dir: filepath.Join(lethetest.Dir(t), fmt.Sprint("host", k)), program: program}
		if e.url != nil {
			settings := settings + fmt.Sprintf("[share]\nurl = %q\nstandby = true\n", e.url(k))
			lethetest.Write(t, filepath.Join(s.dir, "config.toml"), settings)
		}
		if e.via != nil {
			s.via = e.via(k)
		}
		s.env = append(os.Environ(), "HOME="+s.dir, "LETHE_HOME="+s.dir, "GORACE="+raceOptions)
		all = append(all, s)
		switch {
		case e.url == nil:
			lethetest.Write(t, filepath.Join(s.dir, "config.toml"), settings)
			continue
		case k == 0:
			s.lethe("hosts")
			continue
		}
		key := lethetest.Read(t, seal.File(all[0].dir))
		lethetest.Must(t, seal.Put(s.dir, key))
	}
	t.Cleanup(func() {
		for _, s := range all {
			s.kill()
		}
	})
	return all
}

func (s *site) command(args ...string) *exec.Cmd {
	all := slices.Concat(s.via, []string{s.program}, args)
	cmd := exec.Command(all[0], all[1:]...)
	cmd.Env = s.env
	return cmd
}

// lethe runs a command at the host.
func (s *site) lethe(args ...string) string {
	s.Helper()
	cmd := s.command(args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		s.Errorf("%s: lethe %q: %v\n%s%s", filepath.Base(s.dir), args, err, out, errs.String())
	}
	return string(out)
}

// start starts the daemon: of all that this host has, unless some are named.
func (s *site) start(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cmd, gone := s.command(append([]string{"run", "--offline"}, names...)...), make(chan struct{})
	cmd.Stderr, cmd.Stdout = &s.err, &s.err
	lethetest.Must(s, cmd.Start())
	s.daemon, s.gone, s.ends = cmd, gone, false
	s.down.Store(false)
	go func() { // ends with the daemon
		err := cmd.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.ends {
			s.Errorf("the daemon of %s ends by itself: %v", filepath.Base(s.dir), err)
		}
		close(gone)
	}()
}

func (s *site) signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down.Store(sig != syscall.SIGCONT)
	s.ends = s.ends || sig == syscall.SIGKILL || sig == syscall.SIGTERM
	if s.daemon != nil {
		_ = s.daemon.Process.Signal(sig)
	}
}

func (s *site) kill() {
	s.signal(syscall.SIGKILL)
	if s.gone != nil {
		<-s.gone
	}
}

// open opens the home in this process.
func (s *site) open() (home.Home, *blobs.Store, *hosts.Cluster) {
	s.Helper()
	h, err := home.Open(s.dir)
	lethetest.Must(s, err)
	texts, err := blobs.Open(h.Blobs())
	lethetest.Must(s, err)
	var settings config.Settings
	lethetest.Must(s, config.Read(s.dir, &settings))
	if settings.Share.URL == "" {
		return h, texts, nil
	}
	shared := hosts.New(&h, settings.Share, texts, slog.New(slog.NewTextHandler(&s.err, nil)))
	return h, texts, shared
}

// boot makes identities side by side, at this host.
func (s *site) boot(names []string, room func(name string) string) {
	s.Helper()
	h, texts, shared := s.open()
	if shared != nil {
		defer shared.Close()
	}
	var group errgroup.Group
	group.SetLimit(8)
	for _, name := range names {
		group.Go(func() error {
			id, err := home.Boot(h, texts, home.BootOptions{Name: name, Rooms: []string{room(name)}})
			if err != nil {
				return err
			}
			j, err := journal.Hold(h, id, texts, nil)
			if err == nil {
				err = j.Close()
			}
			return err
		})
	}
	lethetest.Must(s, group.Wait())
}

// holders returns the host of each life, by name, as one host was told last.
func holders(t testing.TB, by *site, sites []*site) map[string]*site {
	t.Helper()
	byID := map[string]*site{}
	for _, s := range sites {
		files, err := filepath.Glob(filepath.Join(s.dir, "share", "host-*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("the names of %s are in %q", s.dir, files)
		}
		byID[lethetest.Read(t, files[0])] = s
	}
	_, _, shared := by.open()
	defer shared.Close()
	all, err := shared.Lives()
	lethetest.Must(t, err)
	at := map[string]*site{}
	for _, l := range all {
		at[l.Name] = byID[l.Host.ID]
	}
	return at
}
