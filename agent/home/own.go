package home

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/internal/secret/shape"
	"lethe/mind"
)

// Editable are the files of an identity that people and the agent may edit, beside its context.
var Editable = []string{MemoryFile, "SEGMENT.md", "SUMMARISE.md"}

const (
	MemoryFile  = "MEMORY.md"
	ContextFile = "context.md"
)

// Belongs reports whether a file below an identity's directory goes wherever its life goes, into archives and to other
// hosts, beside LIFE.md and blobs. SOUL.md and the links to rooms follow from these: see RestoreSoul.
func Belongs(name string) bool {
	dir, file := path.Split(name)
	trigger, isTOML := strings.CutSuffix(file, ".toml")
	if dir == "triggers/" {
		return isTOML && trigger != ""
	}
	return name == "LIFE.erased" || name == hiredFile || slices.Contains(Editable, name)
}

// RestoreSoul writes SOUL.md as the boot blob in a store says it.
func (id Identity) RestoreSoul(store *blobs.Store) error {
	self, err := blobs.ParseHash(id.Self)
	if err != nil {
		return err
	}
	boot, err := store.Get(self)
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(id.Dir, "SOUL.md"), boot.Body, 0o400)
}

// maxOwn bounds how much is read of one of the identity's own files, in bytes. Their use is bounded far below it.
const maxOwn = 1 << 20

// ReadOwn reads one of the identity's own files, without secrets. A missing one is empty; links, pipes and devices are
// ignored.
func (id Identity) ReadOwn(name string, log *slog.Logger) ([]byte, error) {
	text, _, err := durable.ReadRegular(filepath.Join(id.Dir, name), maxOwn)
	switch {
	case errors.Is(err, durable.ErrNotRegular):
		log.Warn("one of the identity's own files is not read", "error", err)
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	}
	return shape.Bytes(text), err
}

// Texts reads the own files that requests depend on.
func (id Identity) Texts(log *slog.Logger) (texts []mind.Text, err error) {
	for _, name := range Editable {
		text, err := id.ReadOwn(name, log)
		if err != nil {
			return nil, err
		}
		texts = append(texts, mind.Text{Name: name, Body: text})
	}
	return texts, nil
}

// HarnessFile is the path of people's own version of the rules that identities live by; see mind.Rules.
func (h Home) HarnessFile() string { return filepath.Join(h.Dir, "prompts", "harness.md") }

// maxHarness bounds these rules, in bytes.
const maxHarness = 64 << 10

// Harness returns the rules that identities of the home live by: people's own, without their first line, which names
// the version that they were made from, or this program's.
func (h Home) Harness() (rules, madeFrom string, err error) {
	text, cut, err := durable.ReadRegular(h.HarnessFile(), maxHarness)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return mind.Rules(), mind.RulesVersion(), nil
	case err != nil:
		return "", "", err
	case cut:
		return "", "", fmt.Errorf("read %s: it has more than %d KiB", h.HarnessFile(), maxHarness>>10)
	}
	head, rest, _ := strings.Cut(string(text), "\n")
	if madeFrom, ok := strings.CutPrefix(head, mind.VersionMark); ok {
		return rest, strings.TrimSpace(strings.TrimSuffix(madeFrom, "-->")), nil
	}
	return string(text), "", nil
}
