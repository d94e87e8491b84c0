package chat_test

import (
	"lethe/chat"
	"slices"
	"testing"
)

func TestMentions(t *testing.T) {
	for text, want := range map[string]bool{
		"@ada": true, "@ADA, look": true, "look, @ada.": true, "(@ada)": true, "**@ada**": true, "_@ada_": true,
		"@ada's turn": true, "hi\n@ada\nthere": true, "¡@ada!": true, "@ada…": true,
		"@bob and @ada": true, "and/or @ada": true, "@ada-": true, "`@ada`": true, "מה שלומך @ada?": true,
		"": false, "ada": false, "@": false, "@adam": false, "@ada-3fa9": false, "@ada2": false, "@adä": false, "a@ada": false,
		"ann@ada.org": false, "@ada.org": false, "@@ada": false,
		"@bob@ada": false, "https://social.example/@ada": false, "@ ada": false, "@all": false, "@a\u0301da": false,
	} {
		if got := chat.Mentions(text, "ada"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if !chat.Mentions("@All: stop", "ada", chat.Everybody) || chat.Mentions("@everybody", "ada", chat.Everybody) {
		t.Error("@all is not everybody")
	}
}

// Behind the rooms of a line stand those of the people whom it mentions, once.
func TestNotify(t *testing.T) {
	notices := []string{"notify-grace", chat.NotifyRoom("Bob")}
	for text, want := range map[string][]string{
		"": {"dev", "notify-grace", "notify-bob"}, "done": {"dev"}, "@Grace, done": {"dev", "notify-grace"},
		"@BOB @grace": {"dev", "notify-grace", "notify-bob"}, "@all": {"dev", "notify-grace", "notify-bob"},
	} {
		rooms := make([]string, 1, 8)
		rooms[0] = "dev"
		if got := chat.Notify(notices, text, rooms...); !slices.Equal(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := chat.Notify(notices, "@grace", "notify-grace"); len(got) != 1 {
		t.Errorf("twice: %q", got)
	}
}
