package telegram

import (
	"hash/maphash"

	"github.com/go-telegram/bot/models"
)

// memo is what is remembered of a message: its beginning, and whether it is equal
// to another.
type memo struct {
	gist string
	sum  uint64
}

var seed = maphash.MakeSeed()

func memoOf(m *models.Message) memo {
	f, _ := fileIn(m, 0)
	return memo{gist(m), maphash.String(seed, words(m)+"\x00"+f.ID+"\x00"+other(m))}
}

// recent remembers the newest messages, for the edits that come of them. It is
// not kept across a restart: an edit of an older message then says nothing of what
// was there.
type recent struct {
	memos map[messageID][]version
	order []messageID // oldest first
}

type messageID struct {
	chat int64
	id   int
}

// version is a message as an update told it. An update that comes again must find
// what it found the first time.
type version struct {
	update int64
	memo
}

// Bounds of what is remembered.
const (
	maxRecent   = 2000
	maxVersions = 8
)

func newRecent() *recent { return &recent{memos: map[messageID][]version{}} }

// before is what was remembered of a message when update came, for the first time.
func (r *recent) before(update int64, m *models.Message) (memo, bool) {
	versions := r.until(update, m)
	if len(versions) == 0 {
		return memo{}, false
	}
	return versions[len(versions)-1].memo, true
}

func (r *recent) until(update int64, m *models.Message) []version {
	versions := r.memos[messageID{m.Chat.ID, m.ID}]
	for i, v := range versions {
		if v.update == update {
			return versions[:i]
		}
	}
	return versions
}

// add remembers a message as update told it.
func (r *recent) add(update int64, m *models.Message) {
	id := messageID{m.Chat.ID, m.ID}
	if _, known := r.memos[id]; !known {
		if len(r.order) == maxRecent {
			delete(r.memos, r.order[0])
			r.order = r.order[1:]
		}
		r.order = append(r.order, id)
	}
	versions := append(r.until(update, m), version{update, memoOf(m)})
	r.memos[id] = versions[max(0, len(versions)-maxVersions):]
}
