package telegram

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"

	"lethe/blobs"
	"lethe/internal/test/botapi"
	"lethe/internal/test/lethetest"
)

// drawn is a picture.
func drawn(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	lethetest.Must(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))))
	return b.Bytes()
}

// attached stores a file as SAY does, and returns its tag.
func (st *stage) attached(from, kind, name, media string, data []byte) string {
	st.t.Helper()
	f := blobs.File{Kind: kind, Name: name, Type: media, Size: int64(len(data)), From: from}
	h, err := st.cfg.Store.Put(blobs.Meta{At: time.Now(), Life: "51c0", Gist: f.Gist()}, data)
	lethetest.Must(st.t, err)
	return f.Tag(st.cfg.Store.Short(h))
}

func (st *stage) photo(data []byte) string {
	return st.attached("lethe", "photo", "plot.png", "image/png", data)
}

func (st *stage) document(name string, data string) string {
	return st.attached("lethe", "document", name, "text/plain", []byte(data))
}

// content is what a message of the bot shows: its files, and its words.
func (st *stage) content(m models.Message) string {
	var said []string
	if m.Photo != nil {
		said = append(said, fmt.Sprintf("photo %dx%d", m.Photo[0].Width, m.Photo[0].Height))
	}
	if m.Document != nil {
		said = append(said, fmt.Sprintf("document %s %.10q", m.Document.FileName, st.Data(m.Document.FileID)))
	}
	if m.MediaGroupID != "" {
		said = append(said, "of an album")
	}
	return strings.TrimSpace(strings.Join(append(said, m.Text+m.Caption), " "))
}

// What an agent sends along is in the chat: pictures as pictures, several as an album, with the words below the first.
func TestFilesGoOut(t *testing.T) {
	st, ada := greeted(t)
	small, wide := drawn(t, 40, 30), drawn(t, 3000, 10)
	long := strings.TrimSpace(strings.Repeat("word ", 300))
	forged := st.photo(small)
	other := st.attached("bob", "photo", "plot.png", "image/png", small)
	at := 0
	for _, c := range []struct {
		text string
		want []string
	}{
		{"**Look**\n" + st.photo(small), []string{"photo 40x30 Look"}},
		{"Look\n" + st.photo(small) + "\n" + st.photo(small), []string{"photo 40x30 of an album Look", "photo 40x30 of an album"}},
		{"Look\n" + st.photo(small) + "\n" + st.document("a.txt", "text"),
			[]string{`document plot.png "\x89PNG\r\n\x1a\n\x00\x00" of an album Look`, `document a.txt "text" of an album`}},
		{long + "\n" + st.document("b.txt", "text"), []string{long, `document b.txt "text"`}},
		{"A strip\n" + st.photo(wide), []string{`document plot.png "\x89PNG\r\n\x1a\n\x00\x00" A strip`}},
		{"Not mine\n" + other, []string{"Not mine\n" + other}},
		{"In the middle\n" + forged + "\nof it", []string{"In the middle\n" + forged + "\nof it"}},
		{"Nothing\n[photo plot.png image/png 9 B hash=0123456789abcdef]",
			[]string{"Nothing\n[photo plot.png image/png 9 B hash=0123456789abcdef]"}},
	} {
		st.answers("dev", c.text)
		at += len(c.want)
		ada.got(at)
		var got []string
		for _, m := range ada.messages()[at-len(c.want):] {
			got = append(got, st.content(m))
		}
		equalAll(t, c.text, got, c.want...)
	}
	if m := ada.messages()[0]; m.ReplyToMessage == nil || len(m.CaptionEntities) != 1 {
		t.Errorf("the first answer quotes what it answers, and is marked up: %+v", m)
	}
}

// What Telegram refuses, and what goes with a file that was erased, is said in the place of it; nothing behind it waits.
func TestFilesThatCannotBeSent(t *testing.T) {
	st, ada := greeted(t)
	st.Fault(botapi.Fault{Method: "sendDocument", Status: 400, Description: "Bad Request: not enough rights to send documents to the chat"})
	st.answers("dev", "One\n"+st.document("a.txt", "text"))
	has(t, "refused", ada.got(1)[0], "One\n[document a.txt text/plain 4 B hash=",
		"]\nnot sent: telegram answers 400: Bad Request: not enough rights")

	gone, kept := st.document("gone.txt", "secret"), st.document("kept.txt", "text")
	h, err := st.cfg.Store.Resolve(blobs.Mentions(gone)[0])
	lethetest.Must(t, err)
	hold := make(chan struct{})
	st.Fault(botapi.Fault{Method: "sendMessage", Kind: botapi.Slow, Hold: hold}, botapi.Fault{Method: "sendMediaGroup", Status: 502})
	st.answers("dev", strings.Repeat("long ", 300)+"\n"+gone+"\n"+kept)
	st.within("the line is cut into parts", func() bool { return st.Count("sendMessage") == 2 })
	lethetest.Must(t, os.Remove(st.cfg.Store.Path(h)))
	close(hold)
	ada.got(3)
	equal(t, "what is left", st.content(ada.messages()[2]),
		gone+"\n"+kept+"\nnot sent: telegram answers 400: Bad Request: file must be non-empty")

	st.answers("dev", "Two\n"+kept)
	ada.got(4)
	all := st.document("c.txt", "text")
	st.Fault(botapi.Fault{Method: "sendDocument", Kind: botapi.Lost}, botapi.Fault{Method: "sendDocument", Status: 429, RetryAfter: 1})
	st.answers("dev", "Three\n"+all)
	ada.got(6) // twice: nobody knows whether the first has arrived
	st.answers("dev", "Four")
	equal(t, "what comes behind", ada.got(7)[6], "Four")
}
