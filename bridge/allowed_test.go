package bridge

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Who is shut out while his lines wait has said the last: they are dropped for
// good, told once, and nobody else's are.
func TestRevokedWhileWaiting(t *testing.T) {
	for _, crash := range []bool{false, true} {
		t.Run(fmt.Sprint("crash ", crash), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { revoked(t, crash) })
		})
	}
}

func revoked(t *testing.T, crash bool) {
	home := t.TempDir()
	log := &captured{}
	gone := map[string]bool{}
	var asked []Message
	config := func(c *Config) {
		c.Log, c.Flood.User = log.logger(), Rate{1, 10 * time.Second}
		c.Allowed = func(m Message) (bool, error) {
			asked = append(asked, m)
			return !gone[m.Key], nil
		}
	}
	b := open(t, home, config)
	var batch []Message
	for i := range 5 {
		for _, who := range []string{"ada", "mal"} {
			batch = append(batch, message(fmt.Sprint(who, i), who, fmt.Sprint("line ", i)))
		}
	}
	b.accept(t, batch...)
	if len(asked) != 0 {
		t.Errorf("asked about lines that did not wait: %+v", asked)
	}
	end := b.run(t)
	time.Sleep(11 * time.Second)
	synctest.Wait()
	if len(asked) != 2 || asked[0].ID != "ada1" || asked[0].Key != "ada" || asked[0].Peer != "p-ada" || asked[0].Text != "" {
		t.Errorf("asked %+v", asked)
	}
	end()
	gone["mal"] = true
	if crash {
		b.abandon()
		b = open(t, home, config)
	}
	b.run(t)
	time.Sleep(10 * time.Minute)
	synctest.Wait()
	want := []string{"ada: line 0", "mal: line 0", "ada: line 1", "mal: line 1", "ada: line 2", "ada: line 3", "ada: line 4"}
	equal(t, "the room", texts(t, home, "dev"), want)
	if n := log.count("is dropped"); n != 1 || b.inbox.bytes != 0 || health(t, home).In != 0 {
		t.Errorf("told %d times, %d bytes wait, health %+v", n, b.inbox.bytes, health(t, home))
	}
	// A repetition is known, also after a restart, and what was dropped has no origin.
	gone["mal"] = false
	b.abandon()
	b = open(t, home, config)
	b.accept(t, batch...)
	b.settleNow()
	equal(t, "the room after a repetition", texts(t, home, "dev"), want)
	if n := len(b.inbox.ledger.lines); n != len(want) {
		t.Errorf("%d lines have an origin, not %d", n, len(want))
	}
	data, err := os.ReadFile(inState(home, "inbox.jsonl"))
	if err != nil || strings.Count(string(data), `"dropped":true`) != 3 {
		t.Errorf("%v, the inbox says\n%s", err, data)
	}
}

// An Accept that waits for a full inbox can take hours, so whoever was shut out
// meanwhile is not heard, and others are.
func TestRevokedDuringAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := t.TempDir()
		gone := ""
		b := open(t, home, func(c *Config) {
			c.Flood.User = Rate{1, 10 * time.Second}
			c.Allowed = func(m Message) (bool, error) { return m.Key != gone, nil }
		})
		b.inbox.most = 2
		b.accept(t, message("1", "eve", "one"), message("2", "eve", "two"))
		b.accept(t, message("3", "eve", "three"))
		ended := make(chan error, 1)
		go func() { // ends when eve's second line is posted
			_, err := b.Accept(t.Context(), "", message("4", "mal", "hi"), message("5", "ada", "hello"))
			ended <- err
		}()
		synctest.Wait()
		gone = "mal"
		b.run(t)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		equal(t, "the room", texts(t, home, "dev"), []string{"eve: one", "eve: two", "ada: hello", "eve: three"})
	})
}
