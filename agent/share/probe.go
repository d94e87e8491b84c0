package share

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
)

// States of a Finding, as doctor has them.
const (
	OK      = "ok"
	Warning = "warning"
	Trouble = "trouble"
)

// Finding is one thing that Probe found, and what to do about it.
type Finding struct{ State, Text string }

// ErrUnfit is returned by the first Create of a process where the store does not do as a Store promises.
type ErrUnfit string

func (e ErrUnfit) Error() string { return "refused: " + string(e) }

// tried is the stream of the text that nobody may write over. It stays, so that a proof is cheap.
const tried = "doctor"

// prove returns ErrUnfit if examine finds trouble. It asks once a process, before the first Create, with at most four
// requests: the newest of the stream, a text that is refused and then looked at, the settings. At the first use of a
// store it is one more.
func (s *store) prove(ctx context.Context, stream string, n int) error {
	if s.proven.Load() {
		return nil
	}
	if n > 1 {
		newest, err := s.Newest(ctx, stream, 0)
		if err != nil || newest == 0 { // it is not mounted, perhaps: nothing is written
			return err
		}
	}
	all, err := s.examine(ctx)
	if err != nil {
		return err
	}
	for _, found := range all {
		if found.State == Trouble {
			return ErrUnfit(found.Text)
		}
	}
	s.taken.Store(0) // which was meant
	s.proven.Store(true)
	return nil
}

// examine looks for all that makes a store unfit: it writes over a text, or is set up to forget some.
func (s *store) examine(ctx context.Context) (all []Finding, err error) {
	for range 2 { // the first one may be new
		if err = s.put(ctx, tried, 1, []byte(rand.Text())); err != nil {
			break
		}
	}
	switch {
	case err == nil:
		return nil, ErrUnfit("the store writes over what is there, so two hosts could hold one life: use a bucket that " +
			"heeds If-None-Match, such as one of AWS, R2 or MinIO")
	case !errors.Is(err, ErrTaken):
		return nil, err
	case s.settings == nil:
		return nil, nil
	}
	return s.settings(ctx)
}

// Probe finds out whether the store at a URL does as a Store promises. It examines the store as the first Create of a
// process does, and also writes a text, which it removes.
func Probe(ctx context.Context, at string) []Finding {
	const patience = 3 * time.Second
	opened, err := Open(at, patience)
	if err != nil {
		return []Finding{{Trouble, err.Error()}}
	}
	defer opened.Close()
	s := opened.(*store)
	all, err := s.examine(ctx)
	began, mine := time.Now(), tried+"/"+strings.ToLower(rand.Text())
	if err == nil {
		err = s.put(ctx, mine, 1, []byte(rand.Text()))
	}
	took := time.Since(began)
	if err == nil {
		err = s.Drop(ctx, mine)
	}
	if err != nil {
		return []Finding{{Trouble, err.Error()}}
	}
	text := fmt.Sprintf("a text is written once; that took %v", took.Round(time.Millisecond/10))
	all = append([]Finding{{OK, text}}, all...)
	if s.probe != nil {
		all = append(all, s.probe(ctx)...)
	}
	return all
}

// wrong compares the settings of the JetStream stream with its own.
func (j *jetStream) wrong(ctx context.Context) (all []Finding, err error) {
	a, err := j.api(ctx, "INFO", "")
	if err != nil {
		return nil, away("read the settings of the JetStream stream", err)
	}
	var meant map[string]any
	_ = json.Unmarshal([]byte(j.settings()), &meant) // a constant
	for _, name := range slices.Sorted(maps.Keys(meant)) {
		is, want := a.Config[name], meant[name]
		if reflect.DeepEqual(is, want) {
			continue
		}
		state := Trouble
		switch name {
		case "num_replicas", "republish", "deny_purge":
			state = Warning // it works, less safely, more slowly, or for more money
		}
		text := fmt.Sprintf("the JetStream stream has %s %v, not %v: nats stream edit %s", name, is, want, j.home)
		all = append(all, Finding{state, text})
	}
	return all, nil
}

// probe asks each server how it syncs.
func (j *jetStream) probe(context.Context) (all []Finding) {
	for _, server := range j.conn.Servers() {
		if err := j.syncs(server); err != nil {
			text := fmt.Sprintf("%s: %v: set sync_interval: always in its jetstream block", server, err)
			all = append(all, Finding{Warning, text})
		}
	}
	return all
}

// syncs returns an error unless a server says that it syncs each write.
func (j *jetStream) syncs(server string) error {
	at, err := url.Parse(server)
	if err != nil {
		return err
	}
	client := http.Client{Timeout: answerTime}
	defer client.CloseIdleConnections()
	got, err := client.Get("http://" + at.Hostname() + ":" + j.monitor + "/jsz")
	if err != nil {
		return err
	}
	defer got.Body.Close()
	var told struct {
		Config struct {
			Always bool `json:"sync_always"`
		}
	}
	err = json.NewDecoder(got.Body).Decode(&told)
	if err == nil && !told.Config.Always {
		err = errors.New("two minutes can be lost with the power")
	}
	return err
}
