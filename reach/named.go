package reach

import (
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/picture"
	"lethe/life/event"
	"lethe/mind"
)

// maxImages is how many pictures of one line are shown.
const maxImages = 8

// Named finds the blobs of other lives that users name: naming one gives the identity the right to open it. Of those
// that it may open it finds most pictures, or fewer.
func Named(store *blobs.Store, s *mind.State, lines []chat.Line, most int) (granted []event.Grant, images []string) {
	for _, l := range lines {
		bound := min(most, len(images)+maxImages)
		for _, short := range blobs.Mentions(l.Text) {
			b, err := store.Find(short)
			address := b.Hash.String()
			known := s.Grants[address] || s.Owns(b)
			if err != nil || l.Agent && !known {
				continue
			}
			if !known {
				granted = append(granted, event.Grant{Hash: address, By: l.Name})
			}
			if len(images) < bound {
				images = append(images, picture.Named(address, b.Body)...)
			}
		}
	}
	return granted, images
}
