package doctor_test

import (
	"path/filepath"
	"strings"
	"testing"

	"lethe/agent/home"
	"lethe/bridge/access"
	"lethe/chat"
	"lethe/cmd/lethe/doctor"
	"lethe/internal/test/lethetest"
)

// Private chats that share a room are named, unless their persons may not read it: then each has a room alone.
func TestPrivateChatsThatShare(t *testing.T) {
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	lethetest.Must(t, err)
	policy := &access.Policy{Dir: filepath.Join(h.Dir, "bridges", "telegram")}
	for _, entry := range []string{"1 ann", "2 ben"} {
		_, err := policy.Allow(entry, "", false)
		lethetest.Must(t, err)
	}
	const warned = "the private chats of ann, ben share room dev"
	if found := examine(t, doctor.Exam{Home: h}); !strings.Contains(found, warned) {
		t.Errorf("found: %s", found)
	}
	lethetest.Must(t, chat.About{Readers: []string{"ann"}}.Write(h.Dir, "dev"))
	if found := examine(t, doctor.Exam{Home: h}); strings.Contains(found, "share room") {
		t.Errorf("found: %s", found)
	}
}
