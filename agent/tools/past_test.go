package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// fakePast is a Past of a few texts.
type fakePast struct {
	sent     map[string][2]string // gist and body, by hash
	most     int
	contents []string
	matches  []Match
	remark   string
	err      error
	asked    string
}

func (p *fakePast) received(hash string) (string, []byte, error) {
	f, ok := p.sent[hash]
	if !ok {
		return "", nil, errors.New("resolve \"" + hash + "\": no such blob")
	}
	return f[0], []byte(f[1]), nil
}

func (p *fakePast) Open(ref string) (Original, error) {
	gist, body, err := p.received(ref)
	return Original{Hash: ref, Gist: gist, Time: "of 2026-11-20 12:57", Summary: "s", Contents: p.contents, Body: body, Most: p.most}, err
}

func (p *fakePast) Search(_ context.Context, query string, limit int) ([]Match, string, error) {
	p.asked = fmt.Sprint(query, " ", limit)
	return p.matches, p.remark, p.err
}

func TestUncompactShowsAllPageByPage(t *testing.T) {
	const text = "one ÄÖÜ two\nthree"
	id := newIdentity(t, func(c *Config) { c.Past = &fakePast{most: 8, sent: map[string][2]string{"3f9c": {"a gist", text}}} })
	id.gives("original of hash=3f9c (a gist), of 2026-11-20 12:57: characters 0 to 6 of 17; go on with offset=6\n\none ÄÖ",
		"UNCOMPACT", "hash", "3f9c")
	room := newIdentity(t, func(c *Config) {
		c.Past = &fakePast{most: 24, sent: map[string][2]string{"3f9c": {"a gist", text + text}}}
	})
	room.gives("original of hash=3f9c, of 2026-11-20 12:57: characters 0 to 10 of 34; go on with offset=10\nsummary: s\n\n"+
		"one ÄÖÜ tw", "UNCOMPACT", "hash", "3f9c")
	lethetest.Words(t, id.ok("UNCOMPACT", "hash", "3f9c", "offset", 4, "limit", 1), "characters 4 to 5 of 17", "\n\nÄ")
	var all strings.Builder
	for offset, next := 0, 0; ; offset = next {
		head, body, _ := strings.Cut(id.ok("UNCOMPACT", "hash", "3f9c", "offset", offset), "\n\n")
		all.WriteString(body)
		if _, tail, more := strings.Cut(head, "offset="); !more {
			break
		} else if _, err := fmt.Sscan(tail, &next); err != nil || next <= offset {
			t.Fatalf("after %d comes %q", offset, tail)
		}
	}
	if all.String() != text {
		t.Errorf("the pages are %q", all.String())
	}
	lethetest.Words(t, id.ok("UNCOMPACT", "hash", "3f9c", "offset", 99, "limit", -1), "characters 17 to 17 of 17")
	id.fails([]string{"no such blob. Copy the hash from a ref"}, "UNCOMPACT", "hash", "beef")
}

// What a page shows is not told before it: no contents of it, no gist beside the summary, and of each entry no ref,
// whose gist repeats the text below.
func TestUncompactShowsEachThingOnce(t *testing.T) {
	ref := " ◱hash=0123456789abcdef gist=first words of the text below…◲\n"
	first := "◆ e5 inbound room=dev" + ref + "[USER:ann] one ◱hash=feed gist=her own ref◲\n"
	text := first + "◆ e6 reply" + ref + strings.Repeat("two ", 1500) + "\n◆ e6.1 result ok" + ref + "three\n"
	id := newIdentity(t, func(c *Config) {
		c.Past = &fakePast{most: 1 << 20, sent: map[string][2]string{"3f9c": {"a gist", text}},
			contents: []string{"82 e5 ann: one", "208 e6 reply two", "6207 e6.1 BASH three"}}
	})
	page := id.ok("UNCOMPACT", "hash", "3f9c")
	want := "original of hash=3f9c, of 2026-11-20 12:57: characters 0 to 4000 of 6281; go on with offset=4000\nsummary: s\n" +
		"contents from here on, by offset:\n6207 e6.1 BASH three\n\n" +
		"◆ e5 inbound room=dev\n[USER:ann] one ◱hash=feed gist=her own ref◲\n◆ e6 reply\ntwo two "
	if !strings.HasPrefix(page, want) {
		t.Errorf("it begins\n%.*s\nand not\n%s", len(want), page, want)
	}
	lethetest.Words(t, id.ok("UNCOMPACT", "hash", "3f9c", "offset", 4000), "3f9c (a gist), of", "two \n◆ e6.1 result ok\nthree\n")
	id.gives("original of hash=3f9c (a gist), of 2026-11-20 12:57: characters 2000 to 2004 of 6281; go on with offset=2004\n"+
		"\n two", "UNCOMPACT", "hash", "3f9c", "offset", 2000, "limit", 4)
}

func TestRecall(t *testing.T) {
	past := &fakePast{remark: " The index is still being made."}
	id := newIdentity(t, func(c *Config) { c.Past = past })
	lethetest.Words(t, id.ok("RECALL", "query", "a dog"), "nothing found", "still being made")
	past.matches = []Match{{"◱hash=3f9c gist=g◲", "room=dev offset=7", "Bosun\nthe dog"}, {"◱hash=beef gist=h◲", "tool=BASH offset=0", ""}}
	want := "matches: 2, the best first. The index is still being made.\n" +
		"◱hash=3f9c gist=g◲ room=dev offset=7\n    Bosun\n    the dog\n◱hash=beef gist=h◲ tool=BASH offset=0"
	if got := id.ok("RECALL", "query", "a dog", "limit", 1000); got != want || past.asked != "a dog 20" {
		t.Errorf("asked for %q: %q", past.asked, got)
	}
	if id.ok("RECALL", "query", "x"); past.asked != "x 5" {
		t.Errorf("asked for %q", past.asked)
	}
	past.err = ErrNoWords
	id.fails([]string{"holds no word to look for. Give names"}, "RECALL", "query", "?")
	past.err = errors.New("disk full")
	id.fails([]string{"search what has faded: disk full", "UNCOMPACT"}, "RECALL", "query", "x")
}
