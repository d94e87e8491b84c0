package botapi

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// fetch is getFile and the download.
func (f *fixture) fetch(id string) []byte {
	f.t.Helper()
	file, err := f.bot.GetFile(f.t.Context(), &bot.GetFileParams{FileID: id})
	if err != nil {
		f.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, f.bot.FileDownloadLink(file), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	resp, err := f.client.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 || int64(len(data)) != file.FileSize {
		f.t.Fatalf("%d bytes of %d, %d, %v", len(data), file.FileSize, resp.StatusCode, err)
	}
	return data
}

func TestMedia(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	dm := f.Private(ada)
	jpeg, ogg, pdf := bytes.Repeat([]byte("j"), 5000), []byte("ogg"), []byte("%PDF")
	f.SendPhoto(dm, ada, jpeg, "me /id")
	if m := f.next().Message; m.Caption != "me /id" || len(m.CaptionEntities) != 1 || len(m.Photo) != 2 || m.Photo[1].FileSize != 5000 ||
		!bytes.Equal(f.fetch(m.Photo[1].FileID), jpeg) || !bytes.Equal(f.fetch(m.Photo[0].FileID), jpeg[:1024]) {
		t.Errorf("%+v", m)
	}
	f.SendVoice(dm, ada, ogg, 7)
	if m := f.next().Message; m.Voice.Duration != 7 || m.Voice.MimeType != "audio/ogg" || !bytes.Equal(f.fetch(m.Voice.FileID), ogg) {
		t.Errorf("%+v", m)
	}
	id := f.SendDocument(dm, ada, "../a b.pdf", "application/pdf", pdf, "read")
	if m := f.next().Message; m.Document.FileName != "../a b.pdf" || m.Document.MimeType != "application/pdf" || m.Caption != "read" ||
		m.Document.FileSize != 4 || !bytes.Equal(f.fetch(m.Document.FileID), pdf) {
		t.Errorf("%+v", m)
	}
	f.Edit(dm, id, "read it")
	if m := f.next().EditedMessage; m.Caption != "read it" || m.Text != "" || m.Document == nil {
		t.Errorf("%+v", m)
	}
	f.SendSticker(dm, ada, "👍")
	if m := f.next().Message; m.Sticker.Emoji != "👍" || len(f.fetch(m.Sticker.FileID)) == 0 {
		t.Errorf("%+v", m)
	}
	f.SendLocation(dm, ada, 47.5, 8.25)
	if m := f.next().Message; m.Location.Latitude != 47.5 || m.Location.Longitude != 8.25 {
		t.Errorf("%+v", m)
	}
	album := f.SendAlbum(dm, ada, "two", []byte("1"), []byte("2"))
	one, two := f.next().Message, f.next().Message
	if len(album) != 2 || one.MediaGroupID == "" || one.MediaGroupID != two.MediaGroupID || one.Caption != "two" || two.Caption != "" {
		t.Errorf("%+v %+v", one, two)
	}
	f.SendAlbum(dm, ada, "", []byte("3"))
	if m := f.next().Message; m.MediaGroupID == one.MediaGroupID {
		t.Error("one album for all")
	}
	clip := f.Upload("videos/clip.mp4", []byte("mp4"))
	f.Send(dm, ada, models.Message{Video: &models.Video{FileID: clip.FileID}})
	if m := f.next().Message; string(f.fetch(m.Video.FileID)) != "mp4" || !strings.HasSuffix(clip.FilePath, ".mp4") {
		t.Errorf("%+v", m)
	}
	f.well()
}

func TestFileRefusals(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	dm := f.Private(ada)
	ask := func(verb, path string) reply {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), verb, f.url+"/file/bot"+f.Token()+"/"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := f.do(r)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	get := func(path string) reply { t.Helper(); return ask("GET", path) }
	f.refused(f.ask("getFile", object{"file_id": "nothing"}), 400, "Bad Request: invalid file_id")
	f.refused(f.ask("getFile", object{}), 400, "Bad Request: file_id not specified")
	f.SendHugeDocument(dm, ada, "film.mkv", "video/x-matroska", maxDownload+1)
	f.refused(f.ask("getFile", object{"file_id": f.next().Message.Document.FileID}), 400, "Bad Request: file is too big")
	f.SendDocument(dm, ada, "a.txt", "text/plain", bytes.Repeat([]byte("x"), 1000), "")
	id := f.next().Message.Document.FileID
	f.refused(get("documents/file_1"), 404, "Not Found") // no getFile, no link
	f.fetch(id)
	f.ExpireLinks()
	f.refused(get("documents/file_1"), 404, "Not Found")
	f.fetch(id)
	f.refused(get("documents/../documents/file_1"), 404, "Not Found")
	f.refused(ask("POST", "documents/file_1"), 405, "Method Not Allowed")
	f.well()
	if n := f.Count("file"); n != 6 {
		t.Errorf("%d downloads", n)
	}
}

func TestFileFaults(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	dm := f.Private(ada)
	f.SendDocument(dm, ada, "a.txt", "text/plain", []byte("0123456789"), "")
	id := f.next().Message.Document.FileID
	f.fetch(id)
	get := func() (reply, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.url+"/file/bot"+f.Token()+"/documents/file_0", nil)
		if err != nil {
			t.Fatal(err)
		}
		return f.do(r)
	}
	f.Fault(Fault{Method: "file", Kind: Truncate}, Fault{Method: "file", Kind: Cut}, Fault{Method: "file", Status: 503})
	if a, err := get(); err != nil || a.Body != "01234" {
		t.Errorf("truncated: %v %q", err, a.Body)
	}
	if a, err := get(); err == nil {
		t.Errorf("cut: %q", a.Body)
	}
	if a, err := get(); err != nil || a.HTTP != 503 {
		t.Errorf("%v %+v", err, a)
	}
	if a, err := get(); err != nil || a.Body != "0123456789" {
		t.Errorf("%v %+v", err, a)
	}
}
