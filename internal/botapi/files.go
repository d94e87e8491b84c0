package botapi

import (
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// maxDownload is the size of the largest file that a bot can fetch, in bytes.
const maxDownload = 20 << 20

type file struct {
	models.File
	data  []byte
	asked bool // getFile has been called: there is a link
}

// Upload stores a file as if somebody had sent it; its path ends like name. Use
// it with Send for kinds of media that have no method here.
func (s *Server) Upload(name string, data []byte) models.File {
	return s.upload(name, data, int64(len(data)))
}

func (s *Server) upload(name string, data []byte, size int64) models.File {
	defer s.lock()()
	n := len(s.world.files)
	ext := path.Ext(name)
	f := &file{data: append([]byte(nil), data...), File: models.File{
		FileID: fmt.Sprintf("BQACAgIAAxkBAAM%06d", n), FileUniqueID: fmt.Sprintf("AgADuw%06d", n), FileSize: size,
		FilePath: fmt.Sprintf("%s_%d%s", strings.TrimSuffix(name, ext), n, ext),
	}}
	s.world.files[f.FileID] = f
	return f.File
}

func (s *Server) getFile(p *bot.GetFileParams) (any, *refusal) {
	f := s.world.files[p.FileID]
	switch {
	case p.FileID == "":
		return nil, bad("file_id not specified")
	case f == nil:
		return nil, bad("invalid file_id")
	case f.FileSize > maxDownload:
		return nil, bad("file is too big")
	}
	f.asked = true
	return f.File, nil
}

// fetch is a download, seen as a method: it has faults and a record like others.
var fetch = &method{name: "file"}

func (s *Server) content(req *request) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.world.files {
		if f.asked && f.FilePath == req.texts["path"] {
			return f.data, nil
		}
	}
	return nil, refuse(http.StatusNotFound, "Not Found")
}

// download answers GET /file/bot<token>/<path>.
func (s *Server) download(w http.ResponseWriter, r *http.Request, path string) {
	req := &request{name: "file", method: fetch, w: w, r: r, form: form{texts: map[string]string{"path": path}}}
	s.record(req)
	if r.Method != http.MethodGet {
		s.finish(req, nil, refuse(http.StatusMethodNotAllowed, "Method Not Allowed"))
		return
	}
	s.play(req)
}
