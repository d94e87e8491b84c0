package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/serve/backend"
	"lethe/internal/durable"
	"lethe/internal/picture"
)

// askOptions are the flags of lethe ask.
type askOptions struct {
	once    bool
	timeout time.Duration
}

func newAskCommand(app *app) *cobra.Command {
	var options askOptions
	cmd := &cobra.Command{
		Use:   "ask [NAME] [TEXT...|-]",
		Short: "Ask an identity once and print the answer",
		Long: `Ask says something to the default identity, or to the one that is named, waits until
its turn has ended, and prints what it said. If the identity is not running, it is resumed
for that long; where there is none yet, or with --new, one is booted.

The text is the arguments; - is standard input. What comes through a pipe follows the
text: < /dev/null leaves it out. An argument @FILE attaches a file, such as a picture.

With --once a new identity in a home of its own answers, and nothing of it stays.

If the identity asks something back, that is the answer; lethe answer, or the next ask, answers
it. With --json one object says who answered in which room and turn, what it cost, and the
hash of the answer.`,
		Example: `  lethe ask "what did I say about the deploy key?"
  lethe ask ada --json < question.md
  lethe ask ada "what is this?" @photo.png
  git diff | lethe ask --once "what could go wrong here?"`,
		RunE: app.makingHome(func(ctx context.Context, args []string) error {
			return runAsk(ctx, app, options, args)
		}),
	}
	app.runs.addTo(cmd.Flags())
	flags := cmd.Flags()
	flags.BoolVar(&options.once, "once", false, "ask a new identity in a home that is removed afterwards")
	flags.DurationVar(&options.timeout, "timeout", 0,
		"wait for answers at most for this `DURATION`, such as 90s (default: no bound)")
	return cmd
}

// runAsk asks the identity that the first of several words names, or the one of the flags, or the default one.
func runAsk(ctx context.Context, app *app, options askOptions, args []string) error {
	if options.once {
		return askStranger(ctx, app, options, args)
	}
	if len(args) > 1 && app.runs.name == "" {
		if id, err := app.home.Find(args[0]); err == nil {
			app.runs.name, args = id.Name, args[1:]
		}
	}
	text, err := readQuestion(app, args)
	if err != nil {
		return err
	}
	return askMeant(ctx, app, text, options.timeout)
}

// askMeant asks the identity of the flags, or the default one, which runs meanwhile.
func askMeant(ctx context.Context, app *app, text string, timeout time.Duration) error {
	return app.talk(ctx, func(identity *host.Identity, banner string) error {
		app.tell(banner)
		return await(ctx, app, inquiry{app.roomOf(identity.Identity), text, timeout}, identity)
	})
}

// askStranger asks a new identity in a home that is removed afterwards.
func askStranger(ctx context.Context, app *app, options askOptions, args []string) (err error) {
	if app.runs.name != "" {
		return usagef("--once asks a new identity; leave out --name")
	}
	dir, err := os.MkdirTemp("", "lethe-once-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if app.home, err = home.Open(dir); err != nil {
		return err
	}
	app.settings.DefaultIdentity, app.settings.Reviewer = "", config.Reviewer{}
	text, err := readQuestion(app, args)
	if err != nil {
		return err
	}
	return askMeant(ctx, app, text, options.timeout)
}

// maxMessage bounds one message, in bytes.
const maxMessage = 16 << 20

// readQuestion joins the arguments and the text of a pipe. An argument @FILE attaches a file.
func readQuestion(app *app, args []string) (string, error) {
	words := slices.Clone(args)
	for i, word := range words {
		path, isFile := strings.CutPrefix(word, "@")
		if !isFile || strings.Contains(path, " ") {
			continue
		}
		tag, err := attach(app, path)
		if err != nil {
			return "", usageError(err)
		}
		words[i] = tag
	}
	text := strings.Join(words, " ")
	switch {
	case text == "" && isTerminal(app.in):
		return "", hint(usagef("what is to be asked?"), `‹ask "what is 12*7?"›`)
	case text == "-" || text == "":
		return readMessage(app, "")
	case isPipe(app.in):
		return readMessage(app, text)
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
func attach(app *app, path string) (tag string, err error) {
	data, err := durable.ReadWhole(path, backend.MaxFile)
	if err != nil {
		return "", err
	}
	store, err := blobs.Open(app.home.Blobs())
	if err != nil {
		return "", err
	}
	file := bridge.File{Kind: "file", Name: filepath.Base(path), Mime: picture.MediaType("", path, data)}
	_, tag, err = file.Put(store, time.Now(), app.settings.UserName(), data)
	return tag, err
}

// readMessage returns a text with all of standard input behind it.
func readMessage(app *app, text string) (string, error) {
	late := time.AfterFunc(2*time.Second, func() {
		app.note("reading standard input until it ends; < /dev/null leaves it out")
	})
	defer late.Stop()
	data, err := io.ReadAll(io.LimitReader(app.in, maxMessage+1))
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
		return "", usagef("there is nothing to ask: the text is empty")
	}
	if strings.ContainsRune(text, 0) {
		return "", hint(usagef("a picture or another binary file is no text to ask"),
			"name its path in the question, and give what it says as text")
	}
	return text, nil
}
