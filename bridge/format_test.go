package bridge

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"lethe/chat"
	"lethe/internal/test/lethetest"
)

// The page's inbox.jsonl is one: to the byte what is written, and it says what the
// page says of it.
func TestPageInbox(t *testing.T) {
	text := lethetest.Blocks(t, "bridges.md", "inbox.jsonl")[0]
	var again bytes.Buffer
	for line := range strings.Lines(text) {
		var r record
		dec := json.NewDecoder(strings.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		again.Write(r.encode())
	}
	if again.String() != text {
		t.Errorf("written again, the page's records are\n%s", &again)
	}
	l, torn, err := foldInbox([]byte(text))
	if err != nil || torn {
		t.Fatal(torn, err)
	}
	if len(l.seen) != 2 || l.seen[1] != idHash("tg:1001") || l.seen[0] != idHash("tg:1000") {
		t.Errorf("the page's inbox holds seen %q; %q", l.seen, idHash("tg:1000"))
	}
	if len(l.waiting) != 1 || l.waiting[0].ID != "tg:1002" || l.waiting[0].Peer != "-100200" {
		t.Errorf("waiting %+v", l.waiting)
	}
	if len(l.said) != 2 || l.said[0].Hash != "" && len(l.said[0].Hash) != 16 {
		t.Errorf("said %+v", l.said)
	}
	o := l.lines[lineKey{"dev", chat.Hash([]byte("[USER:ada 2026-11-20T12:57:17Z] and now?"))}]
	if o.Hash == "" || o.ID != "tg:1001" || o.From != 127 || string(o.Note) != `{"message":18}` {
		t.Errorf("the origin of the second line is %+v", o)
	}
	if want := chat.Hash([]byte("[USER:ada 2026-11-20T12:57:16Z] hello, who is here?")); l.said[0].Hash != want {
		t.Errorf("the hash of the first line is %s", want)
	}
}

func TestPagePeer(t *testing.T) {
	text := lethetest.Blocks(t, "bridges.md", "peer.json")[0]
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	lethetest.Must(t, dec.Decode(new(peerState)))
	st, err := parsePeer([]byte(text))
	if err != nil || len(st.Line.Parts) != 1 || st.Asked.ID != "tg:1001" ||
		len(st.Earlier) != 1 || st.Earlier[0].ID != "tg:1000" {
		t.Errorf("the page's peer is %+v, %v", st, err)
	}
	if !st.Newest.Equal(time.Date(2026, 11, 20, 12, 57, 21, 0, time.UTC)) || st.Cursor.Offset != st.Line.To || len(st.Cursor.Last) == 0 {
		t.Errorf("the page's peer is at %+v", st)
	}
	want, err := json.Marshal(st)
	lethetest.Must(t, err)
	var flat bytes.Buffer
	if err := json.Compact(&flat, []byte(text)); err != nil || flat.String() != string(want) {
		t.Errorf("written again, the page's peer is\n%s", want)
	}
}

// A file of an earlier version has notes behind the position; a line without a part to send is over.
func TestParsePeer(t *testing.T) {
	const line = `{"room":"dev","cursor":{},"line":{"room":"dev","from":0,"to":9,"parts":[{"data":1},{"data":2}]}}`
	if st, err := parsePeer([]byte(line + "\n" + `{"part":0,"state":"sent"}` + "\n" + `{"part":1,"sta`)); err != nil ||
		len(st.Line.Parts) != 2 {
		t.Errorf("%+v, %v", st, err)
	}
	if st, err := parsePeer([]byte(`{"room":"dev","line":{"parts":[{"data":1,"state":"sent"},{"data":2}]}}`)); err != nil ||
		len(st.Line.Parts) != 1 {
		t.Errorf("%+v, %v", st, err)
	}
	if st, err := parsePeer([]byte(`{"room":"dev","line":{"parts":[{"data":1,"state":"sent"}]}}`)); err != nil || st.Line != nil {
		t.Errorf("%+v, %v", st, err)
	}
}
