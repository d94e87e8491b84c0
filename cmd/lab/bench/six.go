package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"lethe/chat"
	"lethe/internal/must"
)

// floor is the title of a bare client: it hears lines, sends requests as long as Lethe's, reads the answers, and does
// the six syncs of a round one after the other; it has no context, no tools and no log to check.
const floor = "six"

// hidden is the argument that makes this program that client; without others it ends at once.
const hidden = "bench-six"

// Main is called first in main: it does not return in a process that is the bare client.
func Main() {
	if len(os.Args) < 2 || os.Args[1] != hidden {
		return
	}
	if len(os.Args) < 6 {
		os.Exit(0)
	}
	ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	head, _ := strconv.Atoi(os.Args[4])
	growth, _ := strconv.Atoi(os.Args[5])
	watcher := chat.NewWatcher(0, nil)
	go func() { _ = watcher.Run(ctx) }() // ends with the process, as the others do
	for _, name := range os.Args[6:] {
		s := &six{home: os.Args[2], url: os.Args[3], name: name, more: strings.Repeat("x", growth)}
		s.body = []byte(`{"model":"bench","messages":[{"role":"user","content":"` + name + strings.Repeat("x", head))
		heard, _ := watcher.Subscribe(chat.Scope{Dir: filepath.Join(s.home, "chats"), Names: []string{name + ".md"}})
		go s.live(heard)
	}
	<-ctx.Done()
	os.Exit(0)
}

// six is one life of the bare client.
type six struct {
	home, url, name, more string
	blobs                 int
	body                  []byte
	life, room            *os.File
}

var (
	done   = []byte("[AGENT:six] Done.\n")
	line   = append(bytes.Repeat([]byte("x"), 300), '\n')
	client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200, IdleConnTimeout: time.Minute}}
)

func (s *six) live(heard <-chan struct{}) {
	const flags = os.O_WRONLY | os.O_APPEND | os.O_CREATE
	s.life = must.Get(os.OpenFile(filepath.Join(s.home, "LIFE-"+s.name), flags, 0o600))
	s.room = must.Get(os.OpenFile(chat.Path(s.home, s.name), flags, 0o600))
	text := must.Get(os.ReadFile(s.room.Name()))
	read := bytes.LastIndex(text, done) + 1 // what stands before the last answer was heard
	fmt.Println("ready", s.name)
	for range heard {
		text = must.Get(os.ReadFile(s.room.Name()))
		lines := text[read:]
		if read = len(text); bytes.Contains(lines, []byte("[USER:")) {
			s.turn(lines)
		}
	}
}

func (s *six) turn(lines []byte) {
	s.commit(lines)
	for {
		reply := s.ask()
		s.commit(reply)
		if !bytes.Contains(reply, []byte(`"tool_calls":[`)) {
			must.Do(errors.Join(store(s.room, done), store(s.life, line)))
			return
		}
		s.commit(reply) // the result of the call
		s.body = append(s.body, s.more...)
	}
}

// commit stores a text as a file of its own, and then appends a line to the log.
func (s *six) commit(text []byte) {
	s.blobs++
	dir := filepath.Join(s.home, "blobs", fmt.Sprintf("%03x", rand.IntN(1<<12))) // as hashes are spread
	must.Do(errors.Join(blob(dir, fmt.Sprintf("%s-%d-%d", s.name, os.Getpid(), s.blobs), text), store(s.life, line)))
}

// store appends to a file and syncs it.
func store(f *os.File, text []byte) error {
	_, err := f.Write(text)
	return errors.Join(err, f.Sync())
}

// blob makes a file that is whole or not there, and syncs it and its directory.
func blob(dir, name string, text []byte) error {
	f, err := os.OpenFile(filepath.Join(dir, name+".new"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
	if err != nil {
		return err
	}
	defer f.Close()
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return errors.Join(store(f, text), syscall.Rename(f.Name(), filepath.Join(dir, name)), d.Sync())
}

func (s *six) ask() []byte {
	body := io.MultiReader(bytes.NewReader(s.body), strings.NewReader(`"}]}`))
	r := must.Get(http.NewRequest(http.MethodPost, s.url+"/chat/completions", body))
	r.ContentLength = int64(len(s.body)) + 4
	answer := must.Get(client.Do(r))
	defer answer.Body.Close()
	return must.Get(io.ReadAll(answer.Body))
}
