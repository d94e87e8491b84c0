package share

import (
	"context"
	"fmt"
	"iter"
	"path"
	"strconv"
	"strings"
)

// tree is files in a directory or a bucket. Each stream is a directory in it, with "=" for the slashes of its name, and
// has its texts by the thousand. They count downwards, so the newest is listed first.
type tree struct {
	// keys returns the keys of a stream, the lowest first, and asks for so many at once.
	keys   func(ctx context.Context, stream string, page int) iter.Seq2[string, error]
	forget func(ctx context.Context, key string) error
}

func escape(stream string) string { return strings.ReplaceAll(stream, "/", "=") }

func unescape(name string) string { return strings.ReplaceAll(name, "=", "/") }

func key(stream string, n int) string {
	n = MostNumber - n
	return path.Join(escape(stream), fmt.Sprintf("%06d/%03d", n/1000, n%1000))
}

// number returns the number of a key of a stream, 0 for any other name.
func number(stream, name string) int {
	n, _ := strconv.Atoi(strings.ReplaceAll(strings.TrimPrefix(name, escape(stream)), "/", ""))
	if n = MostNumber - n; n < 1 || key(stream, n) != name {
		return 0
	}
	return n
}

func (t tree) newest(ctx context.Context, stream string) (int, error) {
	for name, err := range t.keys(ctx, stream, 1) {
		if n := number(stream, name); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, nil
}

func (t tree) numbers(ctx context.Context, stream string) (all []int, err error) {
	for name, err := range t.keys(ctx, stream, 1000) {
		if err != nil {
			return nil, err
		}
		if n := number(stream, name); n > 0 {
			all = append(all, n)
		}
	}
	return all, nil
}

func (t tree) remove(ctx context.Context, stream string, upto int, keep func(n int) bool) error {
	newest := 0
	goes := func(n int) bool {
		switch {
		case n == 0 || n > upto:
			return false
		case keep == nil:
			return true
		}
		return n < newest && !keep(n)
	}
	for name, err := range t.keys(ctx, stream, 1000) {
		if err != nil {
			return err
		}
		n := number(stream, name)
		newest = max(n, newest)
		unfinished := strings.Contains(name, "/.tmp-") // its writer died, or tries again
		if !unfinished && !goes(n) {
			continue
		}
		if err := t.forget(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
