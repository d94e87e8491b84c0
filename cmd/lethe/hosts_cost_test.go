//go:build unix

package main_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"lethe/agent/budget"
	"lethe/agent/share/hosts"
	"lethe/internal/buckets"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/sharetest"
)

// What lethe hosts --cost prints of a host is what the bucket's own log has until its last lease, at set prices.
func TestHostsCost(t *testing.T) {
	gateway, faults := sharetest.Bucket(t), &sharetest.Faults{}
	sharetest.Keys()
	var mu sync.Mutex
	var log, atLease buckets.Asked
	faults.Before = func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		isLease := strings.Contains(r.URL.Path, "/hosts=")
		switch {
		case r.Method == http.MethodPut && isLease:
			atLease = log
			log.Puts++
		case r.Method == http.MethodPut:
			log.Puts++
		case r.URL.Query().Has("list-type"):
			log.Lists++
		case r.Method == http.MethodGet:
			log.Gets++
		case r.Method == http.MethodDelete:
			log.Deletes++
		}
	}
	dir := lethetest.Dir(t)
	home := func(name, url string) string {
		at := filepath.Join(dir, name)
		lethetest.Must(t, exec.Command("mkdir", "-m", "700", at).Run())
		lethetest.Write(t, filepath.Join(at, "config.toml"), fmt.Sprintf("[share]\nurl = %q\n", url))
		return at
	}
	a := home("a", gateway.URL("home", faults.HTTP(t, gateway.Address))) // its requests alone are in the log
	b := home("b", gateway.URL("home"))
	daemon := exec.Command("lethe", "--home", a, "run", "--offline", "--name", "ada")
	gone := begin(t, daemon)
	t.Cleanup(func() { end(daemon, gone) })
	lethetest.Eventually(t, "the store has a key", func() bool {
		return exec.Command("cp", filepath.Join(a, "share.key"), b).Run() == nil
	})
	type bill struct {
		hosts.Seen
		Month   budget.USD `json:"usd_month"`
		Million budget.USD `json:"usd_million_turns"`
	}
	told := func() (h bill) {
		out, err := exec.Command("lethe", "--home", b, "hosts", "--cost", "--json").Output()
		var all []bill
		if err == nil && json.Unmarshal(out, &all) == nil && len(all) == 1 {
			h = all[0]
		}
		return h
	}
	var now bill
	lethetest.Eventually(t, "a tells what it asked", func() bool {
		now = told()
		return now.Asked.Puts > 0
	})
	month := 30 * 24 * time.Hour.Seconds() / now.At.Sub(now.Asked.Since).Seconds()
	usd := month * (float64(now.Asked.Puts+now.Asked.Lists)*0.000005 + float64(now.Asked.Gets)*0.0000004)
	if got := now.Month.Dollars(); math.Abs(got-usd) > 0.00001 {
		t.Errorf("a month costs %v, want %v", got, usd)
	}

	does(t, a, "ask", "what is 2*3?")
	does(t, b, "hosts", "drain", now.ID)
	<-gone
	now = told()
	mu.Lock()
	want := atLease
	mu.Unlock()
	want.Since, want.Turns = now.Asked.Since, 1
	lethetest.Equal(t, "asked", now.Asked, want)
	usd = float64(want.Puts+want.Lists)*5 + float64(want.Gets)*0.4
	if got := now.Million.Dollars(); math.Abs(got-usd) > 0.1 {
		t.Errorf("a million turns cost %v, want %v", got, usd)
	}
	row := fmt.Sprintf(`\(drained\) .* %d +%d +%d +silent`, want.Puts, want.Gets, want.Lists)
	if out := does(t, b, "hosts", "--cost"); !regexp.MustCompile(row).MatchString(out) {
		t.Errorf("%s\nhas no row %s", out, row)
	}
}
