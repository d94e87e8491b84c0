// lethe-sqlite FILE QUERY prints the rows of a query over a SQLite file, a JSON object of columns a line, bytes in
// base64. It changes nothing: lethe adopt runs it for the agents that keep their talks in such files.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the driver
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: lethe-sqlite FILE QUERY")
		os.Exit(2)
	}
	if err := run(ctx, os.Stdout, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "lethe-sqlite:", err)
		stop()
		os.Exit(1)
	}
}

// run writes the rows of a query. A file in WAL mode cannot be read where nothing may be written beside it: without a
// log it is taken as one that nobody writes, and with one a copy of both is read.
func run(ctx context.Context, out io.Writer, file, query string) error {
	path, options := file, url.Values{"mode": {"ro"}, "_pragma": {"query_only(1)", "trusted_schema(0)"}}
	isWAL, err := inWAL(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	if log, err := os.Stat(file + "-wal"); isWAL && err == nil && log.Size() > 0 {
		dir, err := os.MkdirTemp("", "lethe-sqlite-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if path, err = copyBoth(ctx, file, dir); err != nil {
			return fmt.Errorf("copy %s with its log: %w", file, err)
		}
		options.Del("mode")
	} else if isWAL {
		options.Set("immutable", "1")
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	source := url.URL{Scheme: "file", Path: absolute, RawQuery: options.Encode()}
	db, err := sql.Open("sqlite", source.String())
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	defer rows.Close()
	return write(out, rows)
}

const headSize = 100 // bytes

// inWAL reports whether a file is in WAL mode, by its head. A missing file, or one that is no SQLite file, is an error:
// SQLite would make the one, and says little of the other.
func inWAL(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, errors.New("it is no regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	head := make([]byte, headSize)
	if _, err := io.ReadFull(file, head); err != nil || !strings.HasPrefix(string(head), "SQLite format 3\x00") {
		return false, errors.New("it is no SQLite file")
	}
	const writeVersion, readVersion, wal = 18, 19, 2
	return head[writeVersion] == wal || head[readVersion] == wal, nil
}

// copyBoth copies a file and its log into a directory. If somebody writes into the file meanwhile, it begins again.
func copyBoth(ctx context.Context, file, dir string) (path string, err error) {
	path = filepath.Join(dir, "copy.db")
	for range 5 {
		before, err := os.Stat(file)
		if err != nil {
			return "", err
		}
		err = copyFile(ctx, file+"-wal", path+"-wal")
		if errors.Is(err, fs.ErrNotExist) { // its last writer has put all of it into the file
			err = os.RemoveAll(path + "-wal")
		}
		if err == nil {
			err = copyFile(ctx, file, path)
		}
		if err != nil {
			return "", err
		}
		after, err := os.Stat(file)
		if err != nil {
			return "", err
		}
		if before.Size() == after.Size() && before.ModTime().Equal(after.ModTime()) {
			return path, nil
		}
	}
	return "", errors.New("it changes all the time; stop the agent that writes it")
}

func copyFile(ctx context.Context, from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	for err == nil {
		if err = ctx.Err(); err == nil {
			_, err = io.CopyN(out, in, 64<<20)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return errors.Join(err, out.Close())
}

// write writes rows as lines of JSON.
func write(out io.Writer, rows *sql.Rows) error {
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	lines := bufio.NewWriterSize(out, 1<<16)
	encoder := json.NewEncoder(lines)
	encoder.SetEscapeHTML(false)
	values, places := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		places[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return err
		}
		row := map[string]any{}
		for i, column := range columns {
			if at, isTime := values[i].(time.Time); isTime {
				values[i] = at.Format(time.RFC3339Nano)
			}
			row[column] = values[i]
		}
		if err := encoder.Encode(row); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), lines.Flush())
}
