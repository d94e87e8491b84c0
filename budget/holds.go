package budget

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"lethe/internal/durable"
)

// Hold is money put aside for a call: the most that it may cost, or what it has cost when that
// is known and no line has said so yet.
type Hold struct {
	N   int    `json:"n"`
	USD USD    `json:"usd"`
	Day string `json:"day"` // the local day that pays for it
}

// Holds are those of one identity, as its directory keeps them in holds.json. The identity
// alone writes them.
type Holds struct {
	Last int    `json:"last"` // the number of the newest hold
	Open []Hold `json:"open"`
}

const holdsFile = "holds.json"

// ReadHolds reads the holds of the identity whose directory it is; no file is no holds.
func ReadHolds(dir string) (h Holds, err error) {
	data, _, err := durable.ReadRegular(filepath.Join(dir, holdsFile), 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return h, fmt.Errorf("read holds: %w", err)
	}
	if json.Unmarshal(data, &h) != nil { // what a power loss left of a file without open ones
		return Holds{}, nil
	}
	return h, nil
}

// Write makes the holds durable. Without open ones it only shows that to others: those of
// before, which a power loss may bring back, are paid or were for nothing.
func (h Holds) Write(dir string) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	write := durable.WriteFile
	if len(h.Open) == 0 {
		write = durable.Replace
	}
	return write(filepath.Join(dir, holdsFile), append(data, '\n'), 0o600)
}

// Set gives hold n an amount and returns its number: 0 makes a new one, and with no amount it
// is gone. It changes a copy of the list.
func (h *Holds) Set(n int, usd USD, day string) int {
	h.Open = slices.Clone(h.Open)
	i := slices.IndexFunc(h.Open, func(o Hold) bool { return o.N == n })
	switch {
	case i >= 0 && usd == 0:
		h.Open = slices.Delete(h.Open, i, i+1)
	case i >= 0:
		h.Open[i].USD = usd
	case usd > 0:
		h.Last++
		n = h.Last
		h.Open = append(h.Open, Hold{n, usd, day})
	}
	if usd == 0 {
		return 0
	}
	return n
}

// Amount is that of hold n.
func (h Holds) Amount(n int) USD {
	for _, o := range h.Open {
		if o.N == n {
			return o.USD
		}
	}
	return 0
}

// Unpaid returns the holds that no line has paid.
func (h Holds) Unpaid(settled []int) []Hold {
	return slices.DeleteFunc(slices.Clone(h.Open), func(o Hold) bool { return slices.Contains(settled, o.N) })
}

// SumHolds adds up holds, as they count on a day.
func SumHolds(open []Hold, day string) (s Sums) {
	for _, o := range open {
		s.Life += o.USD
		if month(o.Day) == month(day) {
			s.Month += o.USD
		}
		if o.Day == day {
			s.Day += o.USD
		}
	}
	return s
}
