package bridge

import (
	"fmt"
	"os"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/internal/pattern"
	"lethe/internal/secret/shape"
)

// File is something that somebody sent. It becomes a blob, and the line that it came with names
// it. The words in it are its sender's.
type File struct {
	Kind              string // "photo", "document" and the like
	Emoji, Name, Mime string
	Duration          int // in seconds
}

// Label names the file as its line does.
func (f File) Label() string {
	words := []string{f.Kind}
	for _, w := range []string{Inert(f.Emoji), Inert(f.Name), Inert(f.Mime)} {
		if w != "" {
			words = append(words, w)
		}
	}
	if f.Duration > 0 {
		words = append(words, fmt.Sprintf("%d s", f.Duration))
	}
	return strings.Join(words, " ")
}

// Put stores what the file holds, and returns the blob's address and what the line says of it. The
// same file of the same moment and person makes the same blob.
func (f File) Put(store *blobs.Store, at time.Time, from string, data []byte) (hash blobs.Hash, tag string, err error) {
	sent := blobs.File{Kind: f.Kind, Name: Inert(f.Name), Type: Inert(f.Mime), Size: int64(len(data)), From: from}
	data = shape.Bytes(data)
	if hash, err = store.Put(blobs.Meta{At: at, Gist: sent.Gist()}, data); err != nil {
		return hash, "", fmt.Errorf("store a file: %w", err)
	}
	return hash, fmt.Sprintf("[%s %s hash=%s]", f.Label(), blobs.Size(sent.Size), store.Short(hash)), nil
}

// Attached is a file that an agent sent with a line.
type Attached struct {
	blobs.File
	Hash blobs.Hash
}

// Attachments parts the text of an agent's line from the files that the agent sent with it, which the end of the line
// names. The name of another file stays text.
func Attachments(store *blobs.Store, by, text string) (rest string, files []Attached) {
	for {
		at := strings.LastIndexByte(text, '\n')
		tag := text[at+1:]
		_, short, _ := strings.Cut(strings.TrimSuffix(tag, "]"), " hash=")
		blob, _ := store.Find(short)
		named, _ := blobs.ParseFile(blob.Gist)
		sent := at >= 0 && named.From == by
		if !sent || named.Tag(short) != tag {
			return text, files
		}
		text, files = text[:at], append([]Attached{{named, blob.Hash}}, files...)
	}
}

// ReadToken reads a token from a file that nobody but its owner can open: a regular file, no link, of mode 0600 or
// less. It returns wrong unless the file has at most most bytes, and a token inForm with nothing but white space around
// it. No error says anything of the content.
func ReadToken(path string, most int64, inForm func(token string) bool, wrong error) (string, error) {
	data, cut, err := durable.ReadRegular(path, most)
	if err != nil {
		return "", err
	}
	fi, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if mode := fi.Mode().Perm(); mode&0o177 != 0 {
		return "", fmt.Errorf("others can open %s (mode %04o): chmod 600 it", path, mode)
	}
	token := strings.TrimSpace(string(data))
	if cut || !inForm(token) {
		return "", wrong
	}
	return token, nil
}

// MaxQuote bounds what a line quotes or names beside the person's own words, in runes.
const MaxQuote = 80

// Inert makes text that somebody else chose, a title or what a message quotes, safe to stand
// inside a person's line: one line, without brackets that could be taken for ours, and without
// the mention of a blob, which in a person's own line gives agents the right to open it. The
// mention is looked for last: what Gist drops may be what hid it.
func Inert(s string) string { return Clip(harmless.Replace(blobs.Gist(s)), MaxQuote) }

var harmless = strings.NewReplacer("[", "(", "]", ")", "hash=", "hash ")

// Clip makes one line of a text, of at most n runes; a cut is marked.
func Clip(s string, n int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// NameRoom makes the name of a room of a text that people chose and a tail that tells it from others.
func NameRoom(text, tail string) string {
	name := strings.Trim(notInRoom().ReplaceAllString(strings.ToLower(text), "-"), "-")
	return strings.TrimLeft(name[:min(len(name), 40)]+"-"+tail, "-")
}

var notInRoom = pattern.Lazy(`[^a-z0-9]+`)
