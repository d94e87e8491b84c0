package chat

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/BurntSushi/toml"

	"lethe/internal/durable"
	"lethe/internal/screen"
)

// About holds people's settings for a room, from chats/<room>.toml. Any program may read and write them.
type About struct {
	Title    string `toml:"title,omitempty"`    // for people; one line
	Archived bool   `toml:"archived,omitempty"` // lists leave the room out; identities hear it as before
	// Readers are the people who may read the room; nil is everybody. See package audience.
	Readers []string `toml:"readers"`
}

// maxTitle bounds a title, in runes.
const maxTitle = 80

// AboutPath returns the file with the settings of a room.
func AboutPath(home, room string) string { return filepath.Join(Dir(home), room+".toml") }

// keptAs is the name under which the readers of a room are kept for the time when its settings are lost.
func keptAs(room string) string { return "." + room }

// ReadAbout reads the settings of a room. It returns the zero About for a room without settings, as most are. Settings
// that lack readers leave the room to those who could read it before.
func ReadAbout(home, room string) (about About, err error) {
	about, err = readAbout(home, room)
	if err != nil || about.Readers != nil {
		return about, err
	}
	kept, err := readAbout(home, keptAs(room))
	about.Readers = kept.Readers
	return about, err
}

func readAbout(home, room string) (about About, err error) {
	text, _, err := durable.ReadRegular(AboutPath(home, room), 64<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return about, nil
	}
	if err == nil && len(text) == 0 {
		err = errors.New("it is empty, as one that is being written")
	}
	if err == nil {
		var keys toml.MetaData
		keys, err = toml.Decode(string(text), &about)
		for _, key := range keys.Keys() { // the decoder takes a key in any case
			if !slices.Contains([]string{"title", "archived", "readers"}, key.String()) {
				err = fmt.Errorf("unknown key %s", key)
			}
		}
	}
	if err != nil {
		return About{}, fmt.Errorf("read about room %s: %w", room, err)
	}
	about.Title = title(about.Title)
	return about, nil
}

// Write replaces the settings of a room. When it returns nil, they survive power loss.
func (a About) Write(home, room string) error {
	if err := KeepReaders(home, room, a.Readers); err != nil {
		return err
	}
	return a.write(home, room)
}

// KeepReaders has these people read a room, and nobody else, when its settings are lost. Nil changes nothing.
func KeepReaders(home, room string, readers []string) error {
	kept, err := readAbout(home, keptAs(room))
	isKept := err == nil && slices.Equal(kept.Readers, readers)
	if readers == nil || isKept {
		return nil
	}
	return About{Readers: readers}.write(home, keptAs(room))
}

func (a About) write(home, room string) error {
	a.Title = title(a.Title)
	var text bytes.Buffer
	err := toml.NewEncoder(&text).Encode(a)
	if err == nil {
		err = durable.MkdirAll(Dir(home), 0o700)
	}
	if err == nil {
		err = durable.WriteFile(AboutPath(home, room), text.Bytes(), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write about room %s: %w", room, err)
	}
	return nil
}

// Describe changes the title of a room, and whether lists leave it out. Settings that cannot be read stay.
func Describe(home, room, title string, archived bool) error {
	about, err := ReadAbout(home, room)
	if err != nil {
		return err
	}
	about.Title, about.Archived = title, archived
	return about.Write(home, room)
}

// title makes a title of any text: one line of at most maxTitle runes that is safe on a screen.
func title(text string) string {
	runes := []rune(screen.Sanitize(fields(cleanUTF8(text))))
	return string(runes[:min(len(runes), maxTitle)])
}
