package chat

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/BurntSushi/toml"

	"lethe/internal/durable"
	"lethe/internal/screen"
)

// About is what people have written about a room, in chats/<room>.toml. Any program may read and write it.
type About struct {
	Title    string `toml:"title,omitempty"`    // for people, of one line
	Archived bool   `toml:"archived,omitempty"` // put away from lists; it is heard as before
}

// maxTitle bounds a title, in runes.
const maxTitle = 80

func aboutPath(home, room string) string { return filepath.Join(Dir(home), room+".toml") }

// ReadAbout reads what people have written about a room; nothing is written about most.
func ReadAbout(home, room string) (a About, err error) {
	text, _, err := durable.ReadRegular(aboutPath(home, room), 64<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err == nil {
		err = toml.Unmarshal(text, &a)
	}
	if err != nil {
		return About{}, fmt.Errorf("read about room %s: %w", room, err)
	}
	a.Title = title(a.Title)
	return a, nil
}

// Write replaces what is written about a room. When it returns, that survives power loss.
func (a About) Write(home, room string) error {
	a.Title = title(a.Title)
	var text bytes.Buffer
	err := toml.NewEncoder(&text).Encode(a)
	if err == nil {
		err = durable.WriteFile(aboutPath(home, room), text.Bytes(), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write about room %s: %w", room, err)
	}
	return nil
}

// title makes one line of what may be a title.
func title(text string) string {
	runes := []rune(screen.Sanitize(fields(cleanUTF8(text))))
	return string(runes[:min(len(runes), maxTitle)])
}
