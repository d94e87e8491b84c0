package status

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"lethe/internal/durable"
	"lethe/internal/secret"
)

// Live is what is under way and not recorded yet: an answer of the model, or the output of a
// command. It is empty when nothing is.
type Live struct {
	Entry    string `json:"entry,omitempty"` // that the answer will be: e12
	Thinking string `json:"thinking,omitempty"`
	Text     string `json:"-"` // live.md has it, for people

	Call   string `json:"call,omitempty"`   // that runs: e12.1
	Output string `json:"output,omitempty"` // the newest of it
	From   int64  `json:"from,omitempty"`   // bytes of output before it
}

// LiveFiles are the files that change with it.
var LiveFiles = []string{liveText, liveRest}

const (
	liveText = "live.md"
	liveRest = "live.json"
)

// writeLive shows in dir what is under way, where was is shown. An end that may be the beginning of a secret is left out.
func writeLive(dir string, was, l Live) (err error) {
	rest := l
	if rest.Text = was.Text; rest != was {
		rest.Thinking = secret.Begun(rest.Thinking)
		data, _ := json.Marshal(rest)
		err = durable.Replace(filepath.Join(dir, liveRest), append(secret.Bytes(data), '\n'), 0o600)
	}
	if l.Text != was.Text {
		err = errors.Join(err, durable.Replace(filepath.Join(dir, liveText), []byte(secret.Begun(l.Text)), 0o600))
	}
	return err
}

// maxLive bounds what is read of a live file, in bytes.
const maxLive = 16 << 20

// ReadLive returns what is under way. What cannot be read is not.
func ReadLive(dir string) (l Live) {
	data, _, err := durable.ReadRegular(filepath.Join(dir, liveRest), maxLive)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && json.Unmarshal(data, &l) != nil {
		return Live{}
	}
	text, _, err := durable.ReadRegular(filepath.Join(dir, liveText), maxLive)
	if err == nil {
		l.Text = string(text)
	}
	return l
}
