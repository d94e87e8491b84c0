package access

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"

	"github.com/zeebo/blake3"

	"lethe/internal/durable"
)

// codeLetters has no 0, O, 1 or I. There are 32, so five bits make one.
const codeLetters = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"

const (
	codeLen = 8 // 40 bits
	keyLen  = 32
)

// codeOf makes the code of a salt.
func codeOf(key, salt []byte) (string, error) {
	h, err := blake3.NewKeyed(key)
	if err != nil {
		return "", err
	}
	_, _ = h.Write(salt)
	code := make([]byte, codeLen)
	for i, b := range h.Sum(nil)[:codeLen] {
		code[i] = codeLetters[int(b)%len(codeLetters)]
	}
	return string(code), nil
}

// cleanCode is a code as it was given, of what a person typed.
func cleanCode(typed string) string {
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.Dash, r) {
			return -1
		}
		return r
	}, typed))
}

// key reads people.key. With create, which needs the lock, one that is missing or
// damaged is made anew: the codes that hung on it are then no codes any more, and
// who asks again is given another.
func (p *Policy) key(create bool) ([]byte, error) {
	path := p.path("people.key")
	key, cut, err := durable.ReadRegular(path, keyLen)
	if err == nil && len(key) == keyLen && !cut {
		return key, nil
	}
	if err == nil {
		err = fmt.Errorf("read %s: it is not %d bytes long", path, keyLen)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if !create {
		return nil, err
	}
	key = make([]byte, keyLen)
	_, _ = rand.Read(key) // never fails
	return key, durable.WriteFile(path, key, 0o600)
}
