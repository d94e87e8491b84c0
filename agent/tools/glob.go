package tools

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"time"
)

const (
	searchShown = 200      // files that GLOB shows, and lines that GREP shows
	grepLine    = 300      // bytes of a line that GREP shows
	grepFile    = 16 << 20 // bytes of a file that GREP searches
)

type globArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path,omitempty"`
}

func (s *Set) glob(ctx context.Context, _ Call, a globArgs) (Result, error) {
	files, skipped, err := s.below(ctx, a.Path, a.Pattern)
	if err != nil {
		return Result{}, err
	}
	sort.SliceStable(files, func(i, j int) bool { return files[i].at.After(files[j].at) })
	var names []string
	for _, f := range files {
		names = append(names, oneLine(f.shown)+"\n")
	}
	return searched(names, "files, the newest first", skipped), nil
}

type grepArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path,omitempty"`
	Glob    string `json:"glob,omitempty" about:"of files, like *.go"`
}

func (s *Set) grep(ctx context.Context, _ Call, a grepArgs) (Result, error) {
	wanted, err := regexp.Compile(a.Pattern)
	if err != nil {
		return Result{}, err // it names the pattern and what is wrong with it
	}
	files, skipped, err := s.below(ctx, a.Path, cmp.Or(a.Glob, "*"))
	if err != nil {
		return Result{}, err
	}
	var lines []string
	for _, f := range files {
		if !f.grep(ctx, wanted, &lines) {
			skipped++
		}
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	return searched(lines, "lines", skipped), nil
}

// searched is the result of a search: its first lines, and what is not shown.
func searched(lines []string, what string, skipped int) Result {
	const head = "[%d %s; not shown: %d; not searched, since not text, too large or not readable: %d]\n%s"
	shown := lines[:min(searchShown, len(lines))]
	return textf(head, len(lines), what, len(lines)-len(shown), skipped, strings.Join(shown, ""))
}

// listed is a file that below has found.
type listed struct {
	place
	at time.Time // of its last change
}

// grep appends the lines of a file that are wanted; beyond searchShown it appends "". It reports whether the file could
// be searched.
func (f listed) grep(ctx context.Context, wanted *regexp.Regexp, lines *[]string) bool {
	file, fi, err := place{dir: f.dir, name: f.name}.open() // within its root, whatever it is called
	if err != nil {
		return false
	}
	defer file.Close()
	text := scanner{ctx: ctx, r: bufio.NewReaderSize(file, 64<<10)}
	if head, _ := text.r.Peek(sniffed); fi.Size() > grepFile || isBinary(head) {
		return false
	}
	for {
		line, length, err := text.next(0, grepFile)
		if err != nil {
			return err == io.EOF
		}
		if !wanted.MatchString(strings.TrimSuffix(line, "\r")) {
			continue
		}
		found := ""
		if len(*lines) < searchShown {
			found = fmt.Sprint(oneLine(f.shown), ":", text.line, ": ", lineShown(clip(line, grepLine), length, text.line, 1))
		}
		*lines = append(*lines, found)
	}
}

// globSyntax makes a regular expression of a quoted glob.
var globSyntax = strings.NewReplacer(
	`\*\*/`, "(?:.*/)?", `\*\*`, ".*", `\*`, "[^/]*", `\?`, "[^/]", `\{`, "(?:", `\}`, ")", ",", "|",
)

// below lists the regular files at or below a path whose paths or names a glob fits, with ** for any directories and
// {a,b}. It counts the directories that it cannot read, and follows no link.
func (s *Set) below(ctx context.Context, dir, glob string) (files []listed, skipped int, err error) {
	fits, err := regexp.Compile("(?s)^(?:" + globSyntax.Replace(regexp.QuoteMeta(glob)) + ")$")
	if err != nil {
		return nil, 0, err
	}
	p, err := s.resolve(cmp.Or(dir, "."))
	if err != nil {
		return nil, 0, err
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return nil, 0, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), p.name, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(p.name, name)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && rel == ".":
			return err
		case len(files) == listRead:
			return fmt.Errorf("it has more than %d such files: name a path below", listRead)
		case err != nil:
			skipped++
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.Type().IsRegular():
			if !fits.MatchString(rel) && !fits.MatchString(d.Name()) {
				return nil
			}
			if fi, err := d.Info(); err == nil { // else it has just gone
				files = append(files, listed{place{dir: p.dir, name: name, shown: path.Join(p.shown, rel)}, fi.ModTime()})
			}
		}
		return nil
	})
	if err != nil {
		err = p.explain("search", err, root)
	}
	return files, skipped, err
}
