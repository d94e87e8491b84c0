package tools

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"path"
	"strings"

	"lethe/agent/tools/document"
	"lethe/internal/pattern"
	"lethe/internal/picture"
)

var refPath = pattern.Lazy(`^(?:◱\s*)?hash=([0-9a-f]+)\b`)

// refOf returns the hash when a path is a ref: hash=3fa9…, or a whole one with
// its gist.
func refOf(path string) (string, bool) {
	m := refPath().FindStringSubmatch(strings.TrimSpace(path))
	if m == nil {
		return "", false
	}
	return m[1], true
}

// readRef shows what stands behind a ref, if it is text. Anything else becomes a
// file of the workspace, where commands can work on it.
func (s *Set) readRef(ctx context.Context, c Call, hash string, a readArgs) (Result, error) {
	o, err := s.Past.Open(hash)
	if err != nil {
		return Result{}, err
	}
	body := o.Body
	shown := "hash=" + clip(hash, 16)
	head := body[:min(len(body), sniffed)]
	looksLikeText := !isBinary(head) && strings.HasPrefix(http.DetectContentType(head), "text/")
	text := len(body) == 0 || looksLikeText
	var where []byte
	if !text || len(body) > pageBytes { // commands can do more with it than pages
		if where, err = s.receive(hash, o.Gist, body); err != nil {
			return Result{}, fmt.Errorf("read %s: a copy of it cannot be made in the workspace: %w", shown, err)
		}
	}
	r := Result{Body: describeBinary(head, int64(len(body)), shown)}
	if _, err := picture.Size(body); err == nil {
		r = Result{Body: []byte("(a picture)"), Opened: o.Address, Picture: body}
	}
	if text || document.Is(head) {
		r, err = s.render(ctx, c, bytes.NewReader(body), int64(len(body)), shown, a)
	}
	r.Body = append(where, r.Body...)
	return r, err
}

// receive puts a file that was sent into the workspace, unless it is there: the
// agent may have changed its copy. It returns a line that tells the path.
func (s *Set) receive(hash, gist string, body []byte) ([]byte, error) {
	p, err := s.relative(receivedDir + "/" + fileName(hash, gist, body[:min(len(body), sniffed)]))
	if err != nil {
		return nil, err
	}
	if file, _, err := p.open(); err == nil {
		file.Close()
		return fmt.Appendf(nil, "[it is the file %s of the workspace already]\n", p.shown), nil
	}
	if err := p.replace(body, nil); err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "[it is the file %s of the workspace now: work on it with commands]\n", p.shown), nil
}

// receivedDir is the directory of the workspace where files without text go.
const receivedDir = "received"

var namedFile = pattern.Lazy(`[\pL\pN][\pL\pN._-]*\.[A-Za-z0-9]{1,8}\b`)

// maxName bounds the part of a file's name that its sender chose, in bytes.
const maxName = 100

// fileName names a received file by its hash, since names repeat, and by the name
// in its gist, which shows its kind: it stands before the first parenthesis.
func fileName(hash, gist string, head []byte) string {
	short := hash[:min(len(hash), 16)]
	about, _, described := strings.Cut(gist, " (")
	if name := namedFile().FindString(about); name != "" && described {
		ext := path.Ext(name)
		name = strings.TrimSuffix(name, ext)
		name = strings.ToValidUTF8(name[:min(len(name), maxName)], "") // a rune that was cut
		return short + "-" + name + ext
	}
	_, ext, _ := strings.Cut(extensions, http.DetectContentType(head)+" ")
	ext, _, _ = strings.Cut(ext, "\n")
	return short + ext
}

// extensions are for files sent without a name. Files of other kinds get no extension.
const extensions = `
image/jpeg .jpg
image/png .png
image/gif .gif
image/webp .webp
application/ogg .ogg
audio/mpeg .mp3
audio/wave .wav
video/mp4 .mp4
video/webm .webm
application/pdf .pdf
application/zip .zip
application/x-gzip .gz
`
