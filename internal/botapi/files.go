package botapi

import (
	"fmt"
	"net/http"

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
	n := len(s.files)
	f := &file{data: data, File: models.File{
		FileID: fmt.Sprintf("BQACAgIAAxkBAAM%06d", n), FileSize: max(size, int64(len(data))), FilePath: fmt.Sprintf("files/file_%d.bin", n),
	}}
	s.files[f.FileID] = f
	return f.File
}

type fileParams struct {
	FileID string `json:"file_id"`
}

func (s *Server) getFile(p fileParams) (any, *answer) {
	f := s.files[p.FileID]
	switch {
	case f == nil:
		return nil, bad("invalid file_id")
	case f.FileSize > maxDownload:
		return nil, bad("file is too big")
	}
	return f.File, nil
}

// download is GET of a file, seen as a method: it has faults and a record like others.
func (s *Server) download(req *request) (any, *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		if f.FilePath == req.texts["path"] {
			return f.data, nil
		}
	}
	return nil, refusal(http.StatusNotFound, nil, "Not Found")
}

// SendPhoto has u send a photo. Like Telegram it offers two sizes: data, and a thumbnail that is
// its first kilobyte.
func (s *Server) SendPhoto(where Chat, u models.User, data []byte, caption string) int {
	size := func(data []byte, side int) models.PhotoSize {
		f := s.Upload(data, 0)
		return models.PhotoSize{FileID: f.FileID, Width: side, Height: side, FileSize: len(data)}
	}
	photo := []models.PhotoSize{size(data[:min(len(data), 1024)], 90), size(data, 1280)}
	return s.Send(where, u, models.Message{Photo: photo, Caption: caption})
}
