package durable

import (
	"encoding/json"
	"io/fs"
)

// ReadJSON reads a value from the file that path names, with at most so many bytes, as ReadRegular does.
func ReadJSON(path string, most int64, into any) error {
	text, _, err := ReadRegular(path, most)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	return err
}

// WriteJSON writes a value as JSON by WriteFile or Replace, for this user alone.
func WriteJSON(write func(path string, data []byte, perm fs.FileMode) error, path string, value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		err = write(path, text, 0o600)
	}
	return err
}
