package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"

	"github.com/go-telegram/bot/models"

	"lethe/bridge"
	"lethe/bridge/telegram/markup"
)

// maxRich is the longest rich message, in characters.
const maxRich = 32_768

// fetched is what Telegram may read in Markdown as the name of a picture or the like, which it
// would fetch before anybody has looked at the address; see message.
var fetched = regexp.MustCompile(`!\[|<[A-Za-z/!]`)

// asRich says whether text goes out as a rich message: Markdown that Telegram itself reads.
func asRich(text string) bool { return markup.Units(text) <= maxRich && !fetched.MatchString(text) }

// richParams are those of sendRichMessage, which go-telegram/bot does not know.
type richParams struct {
	ChatID          int64                   `json:"chat_id"`
	MessageThreadID int                     `json:"message_thread_id,omitempty"`
	RichMessage     richMessage             `json:"rich_message"`
	ReplyParameters *models.ReplyParameters `json:"reply_parameters,omitempty"`
}

type richMessage struct {
	Markdown string `json:"markdown"`
}

// errNotRich is the error of a rich message that Telegram refuses as such.
var errNotRich = errors.New("telegram refuses the rich message")

// instead is how far the messages have come that go out in place of a rich one.
type instead struct {
	data string // of the part
	next int    // of its messages
}

// sendRich delivers a rich message, and if Telegram refuses it the messages in its place. How far
// they have come is remembered for as long as the process lives: after a crash among them, those
// that were sent come again.
func (t *transport) sendRich(ctx context.Context, p bridge.Peer, part bridge.Part, out parcel) (receipt string, err error) {
	s := (*session)(t)
	v, _ := s.instead.Load(p.Key)
	at, _ := v.(instead)
	if at.data != string(part.Data) {
		receipt, err := t.deliver(ctx, p, out)
		if !errors.Is(err, errNotRich) {
			return receipt, err
		}
		s.log.Warn("telegram refuses a rich message, which goes out with less markup", "chat", p.Key, "error", err)
		at = instead{data: string(part.Data)}
		s.instead.Store(p.Key, at)
	}
	for ; at.next < len(out.Instead); at.next++ {
		s.instead.Store(p.Key, at)
		piece := parcel{Text: out.Instead[at.next].Text, HTML: out.Instead[at.next].HTML, Thread: out.Thread}
		if at.next == 0 {
			piece.ReplyTo, piece.Chat = out.ReplyTo, out.Chat
		}
		receipt, err = t.deliver(ctx, p, piece)
		if refused := new(bridge.RefusedError); errors.As(err, &refused) && at.next < len(out.Instead)-1 {
			s.log.Warn("telegram refuses a message", "chat", p.Key, "error", err)
		} else if err != nil {
			return "", err
		}
	}
	s.instead.Delete(p.Key)
	return receipt, nil
}

// richly makes the one part of a line that goes out rich.
func richly(text string, messages []markup.Message, first parcel) ([]bridge.Part, error) {
	first.Rich, first.Instead = text, messages
	data, err := json.Marshal(first)
	if err != nil {
		return nil, &bridge.RefusedError{Err: err}
	}
	return []bridge.Part{{Data: data}}, nil
}
