package botapi

import (
	"fmt"
	"net/http"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// maxDownload is the size of the largest file that a bot can fetch, in bytes.
const maxDownload = 20 << 20

type file struct {
	models.File
	data []byte
}

// Upload stores a file as if somebody had sent it, to be used with Send. A size beyond the data
// is that of a file which is never there.
func (s *Server) Upload(data []byte, size int64) models.File {
	defer s.lock()()
	n := len(s.world.files)
	f := &file{data: data, File: models.File{
		FileID: fmt.Sprintf("BQACAgIAAxkBAAM%06d", n), FileUniqueID: fmt.Sprintf("AgADuw%06d", n), FileSize: max(size, int64(len(data))),
		FilePath: fmt.Sprintf("files/file_%d.bin", n),
	}}
	s.world.files[f.FileID] = f
	return f.File
}

func (s *Server) getFile(p *bot.GetFileParams) (any, *refusal) {
	f := s.world.files[p.FileID]
	switch {
	case f == nil:
		return nil, bad("invalid file_id")
	case f.FileSize > maxDownload:
		return nil, bad("file is too big")
	}
	return f.File, nil
}

// fetch is a download, seen as a method: it has faults and a record like others.
func (s *Server) fetch(req *request) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.world.files {
		if f.FilePath == req.texts["path"] {
			return f.data, nil
		}
	}
	return nil, refuse(http.StatusNotFound, "Not Found")
}

// download answers GET /file/bot<token>/<path>.
func (s *Server) download(w http.ResponseWriter, r *http.Request, path string) {
	req := &request{name: "file", run: (*Server).fetch, w: w, r: r, texts: map[string]string{"path": path}}
	s.record(req)
	s.play(req)
}

// SendPhoto has u send a photo. Like Telegram it offers two sizes: data, and a thumbnail that is
// its first kilobyte.
func (s *Server) SendPhoto(where Chat, u User, data []byte, caption string) int {
	size := func(data []byte, side int) models.PhotoSize {
		f := s.Upload(data, 0)
		return models.PhotoSize{FileID: f.FileID, FileUniqueID: f.FileUniqueID, Width: side, Height: side, FileSize: len(data)}
	}
	photo := []models.PhotoSize{size(data[:min(len(data), 1024)], 90), size(data, 1280)}
	return s.Send(where, u, models.Message{Photo: photo, Caption: caption})
}

// SendDocument has u send a file. The name and type are as a person's client says them: anything.
// A size beyond the data is that of a file that a bot cannot fetch.
func (s *Server) SendDocument(where Chat, u User, name, mime string, data []byte, size int64) int {
	f := s.Upload(data, size)
	return s.Send(where, u, models.Message{Document: &models.Document{
		FileID: f.FileID, FileUniqueID: f.FileUniqueID, FileName: name, MimeType: mime, FileSize: f.FileSize,
	}})
}
