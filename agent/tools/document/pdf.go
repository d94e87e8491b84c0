package document

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ledongthuc/pdf"
)

// pdf adds the text of each page. The parser panics at what it does not expect.
func (t *text) pdf(file []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it is damaged, or no PDF that can be read: %v", p)
		}
	}()
	reader, err := pdf.NewReader(bytes.NewReader(file), int64(len(file)))
	if errors.Is(err, pdf.ErrInvalidPassword) {
		return errors.New("it is encrypted: ask for a copy without a password")
	}
	if err != nil {
		return fmt.Errorf("it is damaged, or no PDF that can be read: %w", err)
	}
	for page := range reader.NumPage() {
		t.mark("page %d of %d", page+1, reader.NumPage())
		if err := t.add(textOf(reader.Page(page + 1))); err != nil {
			return err
		}
	}
	return nil
}
