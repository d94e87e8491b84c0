package bridge

import (
	"os"
	"strings"
	"testing"

	"lethe/internal/secret"
)

// A key of this process that somebody sends gets neither into the room nor into
// the inbox.
func TestKeysDoNotComeIn(t *testing.T) {
	const key = "~k-of-this-test-0123456789"
	secret.Add(key)
	b := open(t)
	b.accept(message("1", "ada", "take "+key+", please"))
	equal(t, "the room", b.texts("dev"), "ada: take "+secret.Text(key)+", please")
	if inbox, err := os.ReadFile(b.file("inbox.jsonl")); err != nil || strings.Contains(string(inbox), key) {
		t.Errorf("the inbox is %s (%v)", inbox, err)
	}
}
