package chat_test

import (
	"lethe/chat"
	"testing"
)

func TestNotice(t *testing.T) {
	for _, c := range []struct{ room, text, line string }{
		{"dev", "? q3fa9c1: Deploy?\n1) yes", "(dev) ? q3fa9c1: Deploy?\n1) yes"},
		{"dev", "(ops) hello", "(dev) (ops) hello"},
		{"", "the disk is full", "the disk is full"},
		{"", "(ops) ? q3fa9c1: Deploy?", " (ops) ? q3fa9c1: Deploy?"}, // said there, not posted by the daemon
	} {
		line := chat.Notice(c.room, c.text)
		if line != c.line {
			t.Errorf("%q of %q is %q, want %q", c.text, c.room, line, c.line)
		}
		room, text := chat.ParseNotice(line)
		if c.room != room || c.room != "" && text != c.text {
			t.Errorf("%q is read as %q, %q", line, room, text)
		}
	}
	if chat.ForNotices("dev") || !chat.ForNotices(chat.NotifyRoom("Ada")) || chat.NotifyRoom("Ada") != "notify-ada" {
		t.Error("rooms for notices are not told apart")
	}
}
