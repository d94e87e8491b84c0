package streams

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strconv"
	"time"

	"lethe/agent/share"
)

// A pack is a text of a stream of its own, and holds the texts of another stream from one number to another. Once it is
// there, these numbers are read from it alone: when the store has forgotten a number, a host that was asleep can create
// it again.

// generations names a stream; the number of its newest text is the generation of packs that counts. An erasure makes
// the next one.
func generations(stream string) string { return stream + "/packs" }

func packs(stream string, generation int) string {
	return fmt.Sprintf("%s/packs/%d", stream, generation)
}

// pack gathers texts.
type pack struct {
	From  int `json:"from"`
	To    int `json:"to"`
	texts [][]byte
	size  int
}

func (packed *pack) add(n int, text []byte) {
	if packed.From == 0 {
		packed.From = n
	}
	packed.To, packed.size, packed.texts = n, packed.size+len(text), append(packed.texts, text)
}

// shelf is the packs of a stream.
type shelf struct {
	*Streams
	stream string
	name   string // of the stream of packs
	gen    int
	last   int // the newest pack
	to     int // the last text in it
	newest int // text of the stream, where it is known
}

// shelf returns the packs of a stream, whose generation is known to be at least so high.
func (s *Streams) shelf(ctx context.Context, stream string, atLeast int) (h shelf, err error) {
	h = shelf{Streams: s, stream: stream}
	if h.gen, err = s.Newest(ctx, generations(stream), 0); err != nil {
		return h, err
	}
	h.gen = max(h.gen, atLeast)
	h.name = packs(stream, h.gen)
	if h.last, err = s.Newest(ctx, h.name, 0); err != nil {
		return h, err
	}
	var packed pack
	for k := h.last; k > 0 && h.to == 0; k-- { // newer ones cannot be read
		packed, err = h.pack(ctx, k)
		if err != nil && !Unreadable(err) {
			return h, err
		}
		h.to = packed.To
	}
	return h, nil
}

func (h *shelf) pack(ctx context.Context, k int) (packed pack, err error) {
	text, err := h.Get(ctx, h.name, k)
	var texts [][]byte
	if err == nil {
		texts, err = Split(text, &packed)
		isWhole := err == nil && len(texts) == packed.To-packed.From+1
		if !isWhole {
			err = ErrDamaged
		}
	}
	if err != nil {
		return pack{}, fmt.Errorf("read pack %d of %s: %w", k, h.stream, err)
	}
	packed.texts = texts
	return packed, nil
}

// readable returns the first pack at k or behind it that can be read; the last readable one is at h.to.
func (h *shelf) readable(ctx context.Context, k int) (packed pack, err error) {
	for ; k <= h.last; k++ {
		packed, err = h.pack(ctx, k)
		if err == nil || !Unreadable(err) {
			break
		}
	}
	return packed, err
}

// scan is Each of the texts in packs, up to h.to.
func (h *shelf) scan(ctx context.Context, after int, f Visit) (int, error) {
	var err error
	first := 1 + sort.Search(h.last-1, func(before int) bool { // the first pack that has a text wanted
		if after == 0 || err != nil {
			return true
		}
		var packed pack
		packed, err = h.readable(ctx, before+1)
		if Unreadable(err) {
			err = nil
			return true
		}
		return packed.To > after
	})
	if err != nil {
		return after, err
	}
	var lost error
	for k := first; k <= h.last && after < h.to; k++ {
		p, err := h.pack(ctx, k)
		if err == nil && p.To > h.newest {
			err = fmt.Errorf("read pack %d of %s: %w", k, h.stream, ErrDamaged)
		}
		if Unreadable(err) {
			lost = err
			continue
		}
		if err != nil {
			return after, err
		}
		if p.From > after+1 && lost == nil {
			lost = fmt.Errorf("read the texts before pack %d of %s: %w", k, h.stream, ErrDamaged)
		}
		for n := after + 1; n < p.From; n++ {
			if err := f(n, nil, lost); err != nil {
				return n - 1, err
			}
			after = n
		}
		for i, text := range p.texts {
			n := p.From + i
			if n <= after {
				continue
			}
			if err := f(n, text, nil); err != nil {
				return after, err
			}
			after = n
		}
	}
	return after, nil
}

// put adds a text to the pack that is being made, and stores a full pack before.
func (h *shelf) put(ctx context.Context, packed *pack, n int, text []byte) (err error) {
	if packed.size > 0 && packed.size+len(text) > MaxText {
		err = h.close(ctx, packed)
	}
	packed.add(n, text)
	return err
}

// close stores the pack that is being made.
func (h *shelf) close(ctx context.Context, packed *pack) error {
	if packed.size == 0 {
		return nil
	}
	err := h.Create(ctx, h.name, h.last+1, Join(packed, packed.texts...))
	if err == nil {
		h.last, h.to = h.last+1, packed.To
	}
	*packed = pack{}
	return err
}

// Pack gathers the texts of a stream up to a number that no pack holds yet. Then the store forgets them, except texts
// that keep wants. Any host may call it at any time: texts never change, and packs that miss a Rewrite are dropped.
func (s *Streams) Pack(ctx context.Context, stream string, upto int, keep func(text []byte) bool) error {
	h, err := s.shelf(ctx, stream, 0)
	if err != nil {
		return err
	}
	err = h.gather(ctx, upto, keep)
	if share.IsTaken(err) || share.IsMissing(err) {
		err = nil // another host packs them
	}
	if err != nil {
		return err
	}
	return s.dropOlder(ctx, stream)
}

// gather is Pack while no other host packs or rewrites the stream.
func (h *shelf) gather(ctx context.Context, upto int, keep func(text []byte) bool) error {
	var packed pack
	first, kept := h.to+1, map[int]bool{}
	for n := first; n <= upto; n++ {
		text, err := h.Get(ctx, h.stream, n)
		if err != nil {
			return err
		}
		kept[n] = keep(text)
		if err := h.put(ctx, &packed, n, text); err != nil {
			return err
		}
	}
	if err := h.close(ctx, &packed); err != nil || upto < first {
		return err
	}
	return h.Delete(ctx, h.stream, upto, func(n int) bool { return n < first || kept[n] })
}

// dropOlder removes the packs of each generation before the newest. A host may have stored one after another
// host rewrote the stream.
func (s *Streams) dropOlder(ctx context.Context, stream string) error {
	counts, err := s.Newest(ctx, generations(stream), 0)
	if err != nil || counts == 0 {
		return err
	}
	all, err := s.List(ctx, generations(stream)+"/")
	if err != nil {
		return err
	}
	for _, name := range all {
		gen, bad := strconv.Atoi(path.Base(name))
		if bad != nil || gen >= counts {
			continue
		}
		if err := s.Drop(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// search finds packs of a generation that is told no longer.
func (h *shelf) search(ctx context.Context) error {
	if h.gen+h.last > 0 {
		return nil
	}
	if _, err := h.Get(ctx, h.stream, 1); !share.IsMissing(err) {
		return nil
	}
	all, err := h.List(ctx, generations(h.stream)+"/")
	newest := 0
	for _, name := range all {
		gen, _ := strconv.Atoi(path.Base(name)) // 0 for any other name
		newest = max(newest, gen)
	}
	if err == nil && newest > 0 {
		*h, err = h.shelf(ctx, h.stream, newest)
	}
	return err
}

// Rewrite replaces the texts of a stream before its newest one, and leaves nothing of the old ones, except texts that
// keep wants. f returns a text anew, behind as many that stand for lost ones, which were Unreadable before it. Rewrite
// returns the generation of the packs; readers of an earlier one forget what they have. After an error the caller calls
// it again. No other host may rewrite the stream meanwhile.
func (s *Streams) Rewrite(
	ctx context.Context, stream string, keep func([]byte) bool, f func(lost int, text []byte) ([][]byte, error),
) (gen int, err error) {
	old, err := s.shelf(ctx, stream, 0)
	if err == nil {
		err = old.search(ctx)
	}
	if err != nil {
		return 0, err
	}
	newest, err := s.Newest(ctx, stream, 0)
	if err != nil || newest < 2 {
		return old.gen, err
	}
	h := shelf{Streams: s, stream: stream, gen: old.gen + 1, name: packs(stream, old.gen+1)}
	if err := s.Drop(ctx, h.name); err != nil { // what was cut short
		return old.gen, err
	}
	var packed pack
	kept, lost := map[int]bool{}, 0
	_, err = s.Each(ctx, stream, At{}, func(n int, text []byte, err error) error {
		if n > newest {
			return nil
		}
		if err != nil {
			lost++
			return nil
		}
		kept[n] = keep(text)
		now, err := f(lost, text)
		if err == nil && len(now) != lost+1 {
			err = fmt.Errorf("%d texts stand for %d", len(now), lost+1)
		}
		for k, text := range now {
			number := n - lost + k
			if err == nil && number < newest {
				err = h.put(ctx, &packed, number, text)
			}
		}
		lost = 0
		return err
	})
	if err == nil && lost > 0 {
		err = fmt.Errorf("rewrite %s: %w", stream, ErrDamaged) // its newest text
	}
	if err == nil {
		err = h.close(ctx, &packed)
	}
	if err == nil {
		err = s.Create(ctx, generations(stream), h.gen, []byte("packs were made anew\n"))
	}
	if err != nil {
		return old.gen, err
	}
	if err := s.dropOlder(ctx, stream); err != nil {
		return h.gen, err
	}
	if !slices.Contains(slices.Collect(maps.Values(kept)), true) { // nothing else stops a host that trusts what it saw
		select {
		case <-time.After(freshFor * 3 / 2):
		case <-ctx.Done(): // nor does the store delete anything then
			return h.gen, ctx.Err()
		}
	}
	return h.gen, s.Delete(ctx, stream, newest-1, func(n int) bool { return kept[n] })
}

// dropBelow removes the streams whose names begin so, except some.
func (s *Streams) dropBelow(ctx context.Context, name string, but ...string) error {
	all, err := s.List(ctx, name)
	for _, stream := range all {
		if err == nil && !slices.Contains(but, stream) {
			err = s.Drop(ctx, stream)
		}
	}
	return err
}

// Forget removes the texts of a stream, its packs and its large texts, except its newest text and each that keep
// wants.
func (s *Streams) Forget(ctx context.Context, stream string, keep func(text []byte) bool) error {
	newest, err := s.Newest(ctx, stream, 0)
	if err == nil {
		err = s.Pack(ctx, stream, newest-1, keep)
	}
	if err == nil {
		err = s.dropBelow(ctx, stream+"/")
	}
	return err
}
