package picture_test

import (
	"lethe/internal/picture"
	"testing"
)

// A file is what its sender says, or its name, or its bytes.
func TestMediaType(t *testing.T) {
	ogg := []byte("OggS\x00")
	for _, test := range [][3]string{
		{"audio/mpeg; x=1", "a.png", "audio/mpeg"}, {"application/octet-stream", "a.png", "image/png"},
		{"", "a", "application/ogg"}, {"nonsense;;", "a.PDF", "application/pdf"},
	} {
		if got := picture.MediaType(test[0], test[1], ogg); got != test[2] {
			t.Errorf("%q %s: %s, want %s", test[0], test[1], got, test[2])
		}
	}
}
