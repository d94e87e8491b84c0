package home

import (
	"errors"
	"fmt"
)

// ErrErasing says that an erasure of a life is under way, or was cut short.
var ErrErasing = errors.New("an erasure of it is not finished")

// Erasing returns an ErrErasing from the moment that an erasure is decided until nothing is left to do of it.
func (id Identity) Erasing() error {
	if plan, err := LoadErasePlan(id.Dir); plan == nil && err == nil {
		return nil
	}
	return fmt.Errorf("open %s: %w", id.Name, ErrErasing)
}
