package talk

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/serve/backend"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
	"lethe/internal/durable"
	"lethe/internal/picture"
)

// maxMessage bounds one message, in bytes.
const maxMessage = 16 << 20

// ReadQuestion joins the arguments and the text of a pipe. An argument @FILE attaches a file.
func ReadQuestion(app *cli.App, args []string) (string, error) {
	words := slices.Clone(args)
	for i, word := range words {
		path, isFile := strings.CutPrefix(word, "@")
		if !isFile || strings.Contains(path, " ") {
			continue
		}
		tag, err := attach(app, path)
		if err != nil {
			return "", exit.With(exit.Usage, err)
		}
		words[i] = tag
	}
	text := strings.Join(words, " ")
	switch {
	case text == "" && console.IsTerminal(app.In):
		return "", exit.Hint(exit.Usagef("what is to be asked?"), "%s", app.Lethe(`ask "what is 12*7?"`))
	case text == "-" || text == "":
		return ReadMessage(app, "")
	case isPipe(app.In):
		return ReadMessage(app, text)
	}
	return checkText(text)
}

func isPipe(in io.Reader) bool {
	file, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&fs.ModeNamedPipe != 0
}

// attach makes a file a blob, and returns the tag that a line shows of it.
func attach(app *cli.App, path string) (tag string, err error) {
	data, err := durable.ReadWhole(path, backend.MaxFile)
	if err != nil {
		return "", err
	}
	store, err := blobs.Open(app.Home.Blobs())
	if err != nil {
		return "", err
	}
	file := bridge.File{Kind: "file", Name: filepath.Base(path), Mime: picture.MediaType("", path, data)}
	_, tag, err = file.Put(store, time.Now(), app.Settings.UserName(), data)
	return tag, err
}

// ReadMessage returns a text with all of standard input behind it.
func ReadMessage(app *cli.App, text string) (string, error) {
	late := time.AfterFunc(2*time.Second, func() {
		app.Note("reading standard input until it ends; < /dev/null leaves it out")
	})
	defer late.Stop()
	data, err := io.ReadAll(io.LimitReader(app.In, maxMessage+1))
	if err != nil {
		return "", fmt.Errorf("read message: %w", err)
	}
	if len(data) > maxMessage {
		return "", fmt.Errorf("read message: longer than %d bytes", maxMessage)
	}
	piped := strings.TrimRight(string(data), "\r\n")
	if strings.TrimSpace(piped) != "" && text != "" {
		text += "\n\n"
	}
	return checkText(text + piped)
}

// checkText refuses an empty text and bytes that are no text.
func checkText(text string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", exit.Usagef("there is nothing to ask: the text is empty")
	}
	if strings.ContainsRune(text, 0) {
		return "", exit.Hint(exit.Usagef("a picture or another binary file is no text to ask"),
			"name its path in the question, and give what it says as text")
	}
	return text, nil
}
