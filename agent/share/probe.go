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

// Probe finds out whether the store at a URL does as a Store promises. It writes a text twice, and leaves one.
func Probe(ctx context.Context, at string) []Finding {
	const stream, patience = "doctor", 3 * time.Second
	s, err := Open(at, patience)
	if err != nil {
		return []Finding{{Trouble, err.Error()}}
	}
	defer s.Close()
	newest, err := s.Newest(ctx, stream, 0)
	began, took := time.Now(), time.Duration(0)
	if err == nil {
		err = s.Create(ctx, stream, newest+1, []byte(rand.Text()))
		took = time.Since(began)
	}
	if err == nil {
		err = s.Create(ctx, stream, newest+1, []byte(rand.Text()))
		if err == nil {
			err = errors.New("the store writes over what is there, so two hosts could hold one life: use a bucket that " +
				"heeds If-None-Match, such as one of AWS, R2 or MinIO")
		}
	}
	if errors.Is(err, ErrTaken) { // by this probe or another one
		err = s.Delete(ctx, stream, newest+1, func(int) bool { return false })
	}
	if err != nil {
		return []Finding{{Trouble, err.Error()}}
	}
	all := []Finding{{OK, fmt.Sprintf("a text is written once; that took %v", took.Round(time.Millisecond/10))}}
	if probe := s.(*store).probe; probe != nil {
		all = append(all, probe(ctx)...)
	}
	return all
}

// probe compares the settings of the JetStream stream with its own, and asks each server how it syncs.
func (j *jetStream) probe(ctx context.Context) (all []Finding) {
	a, err := j.api(ctx, "INFO", "")
	if err != nil {
		return []Finding{{Trouble, err.Error()}}
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
