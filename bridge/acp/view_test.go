package acp

import (
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"lethe/chat"
)

func TestOptions(t *testing.T) {
	got := options(chat.Question{Options: []string{"once", "always", "No", "\x1b[2J"}})
	if got[0].Kind != sdk.PermissionOptionKindAllowOnce || got[1].Kind != sdk.PermissionOptionKindAllowAlways || got[2].Kind != sdk.PermissionOptionKindRejectOnce ||
		strings.Contains(got[3].Name, "\x1b") || got[3].OptionId != "\x1b[2J" {
		t.Errorf("%+v", got)
	}
}
