package push

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"

	"lethe/blobs"
	"lethe/bridge"
	"lethe/chat"
)

// Config says what is sent, and how.
type Config struct {
	Home    string
	Room    string // whose lines are sent; "" for none
	Key     string // private, as NewKey makes it
	Contact string // an https address for those who run push services
	Bridge  *bridge.Bridge
	Watcher *chat.Watcher
	// Transport decides which addresses are reached.
	Transport http.RoundTripper
}

const (
	lasts    = 24 * time.Hour // a line is sent that is no older, and a push service keeps it for so long
	sendTime = 20 * time.Second
	prefix   = "push-" // of the keys of peers that are devices
)

// Run sends the lines of the room to all devices, as they come and go, until ctx ends.
func Run(ctx context.Context, c Config) error {
	changed, cancel := c.Watcher.Subscribe(chat.Scope{Dir: path(c.Home, ""), Names: []string{devicesFile}})
	defer cancel()
	for ctx.Err() == nil {
		var under sync.WaitGroup
		round, end := context.WithCancel(ctx)
		c.Bridge.LocalTrouble("send notices to devices", c.deliver(round, &under))
		select {
		case <-ctx.Done():
		case <-changed:
		}
		end()
		under.Wait()
	}
	return nil
}

// deliver starts what sends to each device, and forgets how far those were that are gone.
func (c Config) deliver(ctx context.Context, under *sync.WaitGroup) error {
	devices, err := Devices(c.Home)
	known, perr := c.Bridge.Peers()
	if err = cmp.Or(err, perr); err != nil {
		return err
	}
	listed := map[string]bool{}
	if c.Room == "" {
		devices = nil
	}
	for _, d := range devices {
		peer := bridge.Peer{Key: prefix + d.ID, Room: c.Room}
		listed[peer.Key] = true
		to := &sender{c, d}
		under.Go(func() { _ = c.Bridge.Deliver(ctx, peer, to) }) // which refuses none of these peers
	}
	for _, key := range known {
		if strings.HasPrefix(key, prefix) && !listed[key] {
			err = errors.Join(err, c.Bridge.Forget(key))
		}
	}
	return err
}

// stay follows no redirect.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// sender sends to a device.
type sender struct {
	Config
	device Device
}

// Parts makes a line what the worker of the page shows, in a few words, unless it is too old to be news.
func (s *sender) Parts(_ bridge.Peer, l bridge.Line) ([]bridge.Part, error) {
	if time.Since(l.At) > lasts {
		return nil, nil
	}
	room, text := chat.ParseNotice(l.Text)
	title, shows := l.Name, "/agents/"+url.PathEscape(l.Name)+"/now"
	if room != "" {
		title += " in " + room
		shows += "?room=" + room
	}
	if q, ok := chat.ParseQuestion(text); ok {
		title = l.Name + " asks"
		text = strings.Join(append([]string{q.Text}, q.Options...), " · ")
	}
	data, err := json.Marshal(map[string]string{"title": title, "body": blobs.Gist(text), "url": shows, "tag": l.Hash})
	return []bridge.Part{{Data: data}}, err
}

// Send encrypts a message and hands it to the push service of the device.
func (s *sender) Send(ctx context.Context, _ bridge.Peer, part bridge.Part) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	public, err := Public(s.Key)
	if err != nil {
		return err
	}
	resp, err := webpush.SendNotificationWithContext(ctx, part.Data, &s.device.Subscription, &webpush.Options{
		HTTPClient: &http.Client{Transport: s.Transport, CheckRedirect: stay},
		Subscriber: s.Contact, TTL: int(lasts.Seconds()), Urgency: webpush.UrgencyHigh,
		VAPIDPublicKey: public, VAPIDPrivateKey: s.Key,
	})
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("reach the push service: %w", failed.Err) // without the address, which is a secret of the device
	} else if err != nil {
		return err
	}
	defer resp.Body.Close()
	return s.taken(resp)
}

// taken says what an answer means for the message.
func (s *sender) taken(resp *http.Response) error {
	err := fmt.Errorf("%s answers %s", resp.Request.URL.Host, resp.Status)
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	switch code := resp.StatusCode; {
	case code/100 == 2:
		return nil
	case code == http.StatusNotFound || code == http.StatusGone: // the browser has given the subscription up
		return cmp.Or(Remove(s.Home, s.device.ID), fmt.Errorf("%w: %w", bridge.ErrUnreachable, err))
	case code != http.StatusTooManyRequests && code/100 != 5:
		return fmt.Errorf("%w: %w", bridge.ErrUnreachable, err)
	case seconds > 0:
		return &bridge.LaterError{After: min(time.Duration(seconds)*time.Second, time.Hour), Err: err}
	}
	return err
}
