package botapi

import (
	"strings"
	"testing"
)

// Buttons that the real server refuses are refused, a press comes as an update, and is answered once.
func TestButtons(t *testing.T) {
	f := start(t)
	send := func(text, data string) reply {
		keys := object{"inline_keyboard": []any{[]any{object{"text": text, "callback_data": data}}}}
		return f.ask("sendMessage", object{"chat_id": f.dm.ID, "text": "which?", "reply_markup": keys})
	}
	for what, a := range map[string]reply{
		"Text buttons": send("yes", ""), "\"text\"": send("", "1"), "BUTTON_DATA_INVALID": send("yes", strings.Repeat("x", 65)),
	} {
		if a.OK || !strings.Contains(a.Description, what) {
			t.Errorf("%+v, want %s", a, what)
		}
	}
	send("yes", strings.Repeat("x", 64))
	m := f.Sent(f.dm)[0]
	id := f.Press(f.dm, f.ada, m.ID, "yes")
	u := f.ask("getUpdates", object{"limit": 1}).Result[0].CallbackQuery
	if u.ID != id || u.From.ID != f.ada.ID || u.Data != strings.Repeat("x", 64) || u.Message.Message.ID != m.ID {
		t.Errorf("%+v", u)
	}
	edit := object{"chat_id": f.dm.ID, "message_id": m.ID}
	if a := f.ask("editMessageReplyMarkup", edit); a.HTTP != 200 || f.Sent(f.dm)[0].ReplyMarkup != nil {
		t.Errorf("%+v", a)
	}
	if a := f.ask("editMessageReplyMarkup", edit); !strings.Contains(a.Description, "not modified") {
		t.Errorf("%+v", a)
	}
	if a := f.ask("answerCallbackQuery", object{"callback_query_id": "5"}); !strings.Contains(a.Description, "too old") {
		t.Errorf("%+v", a)
	}
	f.ask("answerCallbackQuery", object{"callback_query_id": id})
	f.violated(0, "")
	f.ask("answerCallbackQuery", object{"callback_query_id": id})
	f.violated(1, "answered twice")
}
