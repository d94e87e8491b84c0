package streams

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
)

// Join makes a text of a head, in one line of JSON, and of parts, each behind a line with its length in bytes.
func Join(head any, parts ...[]byte) []byte {
	text, _ := json.Marshal(head) // of strings and numbers
	text = append(text, '\n')
	for _, part := range parts {
		text = append(fmt.Appendf(text, "%d\n", len(part)), part...)
	}
	return text
}

// Split reads what Join made.
func Split(text []byte, head any) (parts [][]byte, err error) {
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	if err := json.Unmarshal(first, head); err != nil {
		return nil, err
	}
	for len(rest) > 0 {
		line, behind, _ := bytes.Cut(rest, []byte("\n"))
		size, err := strconv.Atoi(string(line))
		fits := size >= 0 && size <= len(behind)
		if err != nil || !fits {
			return nil, errors.New("it ends early")
		}
		parts, rest = append(parts, behind[:size]), behind[size:]
	}
	return parts, nil
}

// Nonce returns what makes a text another one than each before.
func Nonce() string { return strconv.FormatUint(rand.Uint64(), 36) }
