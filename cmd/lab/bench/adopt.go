package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the driver

	"lethe/agent/adopt"
)

// adopt has each program adopt a history of Claude Code, and beside it fills a full-text index of SQLite with the same
// texts in one transaction.
func (b *bench) adopt() error {
	long, many := filepath.Join(b.dir, "long"), filepath.Join(b.dir, "many")
	size, err := writeHistory(long, 40, 400)
	if err != nil {
		return err
	}
	files := 2000
	if len(b.Only) == 1 {
		files = 20_000
	}
	if _, err := writeHistory(many, files, 1); err != nil {
		return err
	}
	b.Notes = append(b.Notes, fmt.Sprintf("The unchanged store has %d files; 20000 with --only adopt alone.", files))
	var said texts
	if _, err := adopt.Read(b.ctx, adopt.Find("claude-code"), os.DirFS(long), &said, adopt.Options{}); err != nil {
		return err
	}
	for range 3 {
		name, err := b.bootOne()
		if err != nil {
			return err
		}
		err = b.each(1, func(c *column) error {
			if c != b.six {
				return b.adoptInto(c, name, long, size)
			}
			before := ownProcessor()
			took, err := fill(b.ctx, filepath.Join(b.dir, name+".db"), said)
			b.note("adopt speed", c, size/1e6/took.Seconds())
			b.note("adopt processor", c, ms(ownProcessor()-before)/(size/1e6))
			return err
		})
		if err != nil {
			return err
		}
	}
	return b.adoptAgain(many)
}

// adoptInto measures an identity that adopts a history of size bytes.
func (b *bench) adoptInto(c *column, name, history string, size float64) error {
	before, err := onDisk(c.home)
	if err != nil {
		return err
	}
	took, state, err := b.command(c, "adopt", "claude-code="+history, "--as", name)
	if err != nil {
		return err
	}
	after, err := onDisk(c.home)
	if err != nil {
		return err
	}
	b.note("adopt speed", c, size/1e6/took.Seconds())
	b.note("adopt processor", c, ms(state.UserTime()+state.SystemTime())/(size/1e6))
	b.note("adopt disk", c, (after-before)/size)
	if used, ok := state.SysUsage().(*syscall.Rusage); ok {
		b.note("adopt resident", c, float64(used.Maxrss)/1e3)
	}
	took, _, err = b.command(c, "recall", name, "watcher")
	b.note("adopt recall", c, ms(took))
	return err
}

// adoptAgain measures a second run over a store of many files.
func (b *bench) adoptAgain(many string) error {
	name, err := b.bootOne()
	if err != nil {
		return err
	}
	for _, c := range b.programs {
		for run := range 4 {
			took, _, err := b.command(c, "adopt", "claude-code="+many, "--as", name)
			if err != nil {
				return err
			}
			if run > 0 {
				b.note("adopt again", c, ms(took))
			}
		}
	}
	return nil
}

// command runs a command of a program to its end.
func (b *bench) command(c *column, args ...string) (time.Duration, *os.ProcessState, error) {
	cmd := exec.CommandContext(b.ctx, c.exe, append(args, "--home", c.home)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir, "TMPDIR=" + b.dir}
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, nil, fmt.Errorf("%s %s: %w: %s", c.exe, args[0], err, out)
	}
	return time.Since(began), cmd.ProcessState, nil
}

// ownProcessor is the processor time that this process has taken.
func ownProcessor() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // of the process itself: cannot fail
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// onDisk returns the bytes that the files below a directory occupy.
func onDisk(dir string) (bytes float64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if stat, ok := info.Sys().(*syscall.Stat_t); err == nil && ok && entry.Type().IsRegular() {
			bytes += float64(stat.Blocks) * 512
		}
		return err
	})
	return bytes, err
}

// texts is a sink that keeps the texts of a history.
type texts []string

func (t *texts) Session(adopt.Session) error { return nil }

func (t *texts) Read(adopt.Piece) error { return nil }

func (t *texts) Entry(entry adopt.Entry) error {
	*t = append(*t, entry.Text)
	return nil
}

// fill fills a full-text index with texts, in one transaction.
func fill(ctx context.Context, path string, all texts) (took time.Duration, err error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close(), os.Remove(path)) }()
	began := time.Now()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, "CREATE VIRTUAL TABLE said USING fts5(body)"); err != nil {
		return 0, errors.Join(err, tx.Rollback())
	}
	insert, err := tx.PrepareContext(ctx, "INSERT INTO said VALUES (?)")
	if err != nil {
		return 0, errors.Join(err, tx.Rollback())
	}
	for _, text := range all {
		if _, err := insert.ExecContext(ctx, text); err != nil {
			return 0, errors.Join(err, tx.Rollback())
		}
	}
	err = tx.Commit()
	return time.Since(began), err
}

// Rows of Claude Code: the envelope of a line, and four messages.
const (
	envelope = `{"parentUuid":"%s","isSidechain":false,"userType":"external","cwd":"/home/ada/src/lethe",` +
		`"sessionId":"%s","version":"2.1.332","gitBranch":"main","type":"%s","message":%s,"uuid":"%s",` +
		`"timestamp":"%s"}` + "\n"
	asks    = `{"role":"user","content":%q}`
	answers = `{"model":"claude-opus","id":"msg_%s","type":"message","role":"assistant","content":[{"type":"text",` +
		`"text":%q}],"stop_reason":null,"usage":{"input_tokens":4,"cache_read_input_tokens":30113,"output_tokens":212}}`
	calls = `{"model":"claude-opus","id":"msg_%s","type":"message","role":"assistant","content":[{"type":"tool_use",` +
		`"id":"toolu_%s","name":"Bash","input":{"command":%q}}],"stop_reason":"tool_use","usage":{"output_tokens":96}}`
	returns = `{"role":"user","content":[{"tool_use_id":"toolu_%s","type":"tool_result","content":%q,"is_error":false}]}`
)

// writeHistory writes sessions of so many rounds as Claude Code does, and returns their size in bytes: a person asks
// now and then, and in each round the assistant says a little and calls a tool that returns code.
func writeHistory(dir string, sessions, rounds int) (size float64, err error) {
	folder := filepath.Join(dir, "projects", "-home-ada-src-lethe")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return 0, err
	}
	random := rand.New(rand.NewPCG(1, 2))
	frequent := rand.NewZipf(random, 1.1, 3, 400_000)
	words := func(n int, code bool) string {
		var text strings.Builder
		text.WriteString("the watcher ")
		for i := range n {
			switch {
			case code && i%12 == 11:
				fmt.Fprintf(&text, "err%d := open(ctx, %q)\n\t", i, "a/b")
			default:
				fmt.Fprintf(&text, "w%x ", frequent.Uint64())
			}
		}
		return text.String()
	}
	id := func() string { return fmt.Sprintf("%016x", random.Uint64()) }
	at := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	for range sessions {
		var file strings.Builder
		session, parent := id(), id()
		row := func(kind, message string) {
			uuid := id()
			at = at.Add(7 * time.Second)
			fmt.Fprintf(&file, envelope, parent, session, kind, message, uuid, at.Format(time.RFC3339Nano))
			parent = uuid
		}
		for round := range rounds {
			if round%5 == 0 {
				row("user", fmt.Sprintf(asks, words(30, false)))
			}
			message, call := id(), id()
			row("assistant", fmt.Sprintf(answers, message, words(40, false)))
			row("assistant", fmt.Sprintf(calls, message, call, words(15, false)))
			row("user", fmt.Sprintf(returns, call, words(random.IntN(300), true)))
		}
		name := filepath.Join(folder, session+".jsonl")
		if err := os.WriteFile(name, []byte(file.String()), 0o600); err != nil {
			return 0, err
		}
		size += float64(file.Len())
	}
	return size, nil
}
