package telegram

import (
	"context"
	"errors"
	"regexp"
	"sync"

	"lethe/bridge"
	"lethe/bridge/telegram/markup"
)

// maxRich is the longest rich message, in characters.
const maxRich = 32_768

// fetched is what Telegram may read in Markdown as a picture or the like, which it would fetch
// before anybody has looked at the address; see message.
var fetched = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`!\[|<[A-Za-z/!]`) })

// canBeRich says whether text may go out as a rich message: Markdown that Telegram itself reads.
func canBeRich(text string) bool {
	return markup.Units(text) <= maxRich && !fetched().MatchString(text)
}

// errNotRich is the error of a rich message that Telegram refuses as such.
var errNotRich = errors.New("telegram refuses the rich message")

// instead is how far the messages have come that go out in place of a refused rich one.
type instead struct {
	text string
	next int
}

// sendRich delivers a rich message, and if Telegram refuses it the messages in its place. How far
// they have come is remembered as long as the process lives: after a crash among them, those that
// were sent come again.
func (s *session) sendRich(ctx context.Context, p bridge.Peer, out parcel) (receipt string, err error) {
	v, _ := s.instead.Load(p.Key)
	at, _ := v.(instead)
	if at.text != out.Rich {
		receipt, err := s.send(ctx, p, out)
		if !errors.Is(err, errNotRich) {
			return receipt, err
		}
		s.log.Warn("telegram refuses a rich message, which goes out with less markup", "chat", p.Key, "error", err)
		at = instead{text: out.Rich}
	}
	for ; at.next < len(out.Instead); at.next++ {
		s.instead.Store(p.Key, at)
		piece := parcel{Text: out.Instead[at.next].Text, HTML: out.Instead[at.next].HTML, Thread: out.Thread}
		if at.next == 0 {
			piece.ReplyTo, piece.Chat = out.ReplyTo, out.Chat
		}
		receipt, err = s.send(ctx, p, piece)
		if refused := new(bridge.RefusedError); errors.As(err, &refused) {
			s.log.Warn("telegram refuses a message", "chat", p.Key, "error", err)
		} else if err != nil {
			return "", err
		}
	}
	s.instead.Delete(p.Key)
	return receipt, err
}
