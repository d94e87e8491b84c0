package botapi

import (
	"fmt"

	"github.com/go-telegram/bot/models"
)

// SendPhoto has u send a photo. Like Telegram it offers two sizes: data, and a
// thumbnail that is its first kilobyte.
func (s *Server) SendPhoto(where Chat, u User, data []byte, caption string) int {
	return s.Send(where, u, models.Message{Photo: s.photo(data), Caption: caption, CaptionEntities: marks(caption)})
}

func (s *Server) photo(data []byte) []models.PhotoSize {
	size := func(data []byte, side int) models.PhotoSize {
		f := s.Upload("photos/file.jpg", data)
		return models.PhotoSize{FileID: f.FileID, FileUniqueID: f.FileUniqueID, Width: side, Height: side, FileSize: len(data)}
	}
	return []models.PhotoSize{size(data[:min(len(data), 1024)], 90), size(data, 1280)}
}

// SendVoice has u send a voice message of so many seconds.
func (s *Server) SendVoice(where Chat, u User, data []byte, seconds int) int {
	f := s.Upload("voice/file.oga", data)
	return s.Send(where, u, models.Message{Voice: &models.Voice{
		FileID: f.FileID, FileUniqueID: f.FileUniqueID, Duration: seconds, MimeType: "audio/ogg", FileSize: f.FileSize,
	}})
}

// SendDocument has u send a file. The name and type are as a person's client
// says them: anything.
func (s *Server) SendDocument(where Chat, u User, name, mime string, data []byte, caption string) int {
	f := s.Upload("documents/file", data)
	return s.Send(where, u, models.Message{Caption: caption, CaptionEntities: marks(caption), Document: &models.Document{
		FileID: f.FileID, FileUniqueID: f.FileUniqueID, FileName: name, MimeType: mime, FileSize: f.FileSize,
	}})
}

// SendHugeDocument is SendDocument with a file of so many bytes that is never
// there: above 20 MB a bot cannot fetch it anyway.
func (s *Server) SendHugeDocument(where Chat, u User, name, mime string, size int64) int {
	f := s.upload("documents/file", nil, size)
	return s.Send(where, u, models.Message{Document: &models.Document{
		FileID: f.FileID, FileUniqueID: f.FileUniqueID, FileName: name, MimeType: mime, FileSize: f.FileSize,
	}})
}

// SendSticker has u send a sticker that stands for an emoji.
func (s *Server) SendSticker(where Chat, u User, emoji string) int {
	f := s.Upload("stickers/file.webp", []byte("RIFF....WEBP"))
	return s.Send(where, u, models.Message{Sticker: &models.Sticker{
		FileID: f.FileID, FileUniqueID: f.FileUniqueID, Type: "regular", Width: 512, Height: 512, Emoji: emoji, FileSize: int(f.FileSize),
	}})
}

// SendAlbum has u send photos as one album: a message for each, with one
// media_group_id, of which the first has the caption.
func (s *Server) SendAlbum(where Chat, u User, caption string, photos ...[]byte) []int {
	s.mu.Lock()
	s.world.albums++
	album := fmt.Sprint(13_000_000_000_000_000 + s.world.albums)
	s.mu.Unlock()
	var ids []int
	for _, data := range photos {
		m := models.Message{MediaGroupID: album, Photo: s.photo(data), Caption: caption, CaptionEntities: marks(caption)}
		ids = append(ids, s.Send(where, u, m))
		caption = ""
	}
	return ids
}
