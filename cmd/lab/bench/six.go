package bench

import (
	"bytes"
	"context"
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
		go func() {
			if err := s.live(heard); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}()
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

func (s *six) live(heard <-chan struct{}) (err error) {
	const flags = os.O_WRONLY | os.O_APPEND | os.O_CREATE
	s.life, err = os.OpenFile(filepath.Join(s.home, "LIFE-"+s.name), flags, 0o600)
	if err != nil {
		return err
	}
	s.room, err = os.OpenFile(chat.Path(s.home, s.name), flags, 0o600)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(s.room.Name())
	if err != nil {
		return err
	}
	read := bytes.LastIndex(text, done) + 1 // what stands before the last answer was heard
	fmt.Println("ready", s.name)
	for range heard {
		text, err := os.ReadFile(s.room.Name())
		if err != nil {
			return err
		}
		lines := text[read:]
		read = len(text)
		if !bytes.Contains(lines, []byte("[USER:")) {
			continue
		}
		if err := s.turn(lines); err != nil {
			return err
		}
	}
	return nil
}

func (s *six) turn(lines []byte) error {
	if err := s.commit(lines); err != nil {
		return err
	}
	for {
		reply, err := s.ask()
		if err != nil {
			return err
		}
		if err := s.commit(reply); err != nil {
			return err
		}
		if !bytes.Contains(reply, []byte(`"tool_calls":[`)) {
			if err := store(s.room, done); err != nil {
				return err
			}
			return store(s.life, line)
		}
		if err := s.commit(reply); err != nil { // the result of the call
			return err
		}
		s.body = append(s.body, s.more...)
	}
}

// commit stores a text as a file of its own, and then appends a line to the log.
func (s *six) commit(text []byte) error {
	s.blobs++
	dir := filepath.Join(s.home, "blobs", fmt.Sprintf("%03x", rand.IntN(1<<12))) // as hashes are spread
	if err := blob(dir, fmt.Sprintf("%s-%d-%d", s.name, os.Getpid(), s.blobs), text); err != nil {
		return err
	}
	return store(s.life, line)
}

// store appends to a file and syncs it.
func store(f *os.File, text []byte) error {
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Sync()
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
	if err := store(f, text); err != nil {
		return err
	}
	if err := syscall.Rename(f.Name(), filepath.Join(dir, name)); err != nil {
		return err
	}
	return d.Sync()
}

func (s *six) ask() ([]byte, error) {
	body := io.MultiReader(bytes.NewReader(s.body), strings.NewReader(`"}]}`))
	r, err := http.NewRequest(http.MethodPost, s.url+"/chat/completions", body)
	if err != nil {
		return nil, err
	}
	r.ContentLength = int64(len(s.body)) + 4
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}
