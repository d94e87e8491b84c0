package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"lethe/blobs"
)

// Embed makes searches use vectors too, which Vectors or KeepVectors make. It is
// called before the index is used; nil is off, and so is never calling it.
func (x *Index) Embed(e *Embedder) {
	x.embedding = nil
	if e != nil {
		x.embedding = newEmbedding(*e)
	}
}

// Back-off between failed attempts.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// trouble is what is known of an endpoint that does not answer.
type trouble struct {
	mu   sync.Mutex
	told bool
	// What comes after a failed question of a search, and of a hint: a hint has
	// little time, and that it gets no answer says nothing of searches.
	search, hint rest
	alone        time.Time // until when it wants to be left alone, whatever for
}

// rest is a time without questions.
type rest struct {
	pause time.Duration // the last one; 0 for none
	until time.Time
}

// failed logs the first failure of a row.
func (x *Index) failed(err error) {
	t := &x.embedding.trouble
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.told {
		t.told = true
		x.log.Warn("no embeddings now; searches go by words alone, and it is tried again", "error", err)
	}
}

// answered logs the end of a row of failures.
func (x *Index) answered() {
	t := &x.embedding.trouble
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.told {
		t.told = false
		x.log.Info("the embeddings endpoint answers again")
	}
}

// leave notes that an endpoint wants to be left alone for a while.
func (t *trouble) leave(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d > 0 {
		t.alone = time.Now().Add(d)
	}
}

// wait is for how long the endpoint is still to be left alone.
func (t *trouble) wait() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(0, time.Until(t.alone))
}

// resting reports whether a sort of question is not asked now.
func (t *trouble) resting(r *rest) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	return now.Before(r.until) || now.Before(t.alone)
}

// question notes how one went: after a failed one there are none for a while, so
// that an endpoint that hangs delays one search and not all.
func (t *trouble) question(r *rest, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		*r = rest{}
		return
	}
	r.pause = min(max(2*r.pause, firstPause), lastPause)
	r.until = time.Now().Add(r.pause)
}

// KeepVectors makes vectors of all originals, now and whenever there is news,
// until ctx ends. While the endpoint fails it is asked again after a second,
// then after twice as long, up to a minute, or when it wants to be asked again, up
// to five. When the index turns out to be damaged, rebuilding is called: a Sync is
// due. Without an endpoint it returns.
func (x *Index) KeepVectors(ctx context.Context, store *blobs.Store, news <-chan struct{}, rebuilding func()) {
	if x.embedding == nil {
		return
	}
	pause, told := firstPause, false
	for {
		added, err := x.Vectors(ctx, store)
		if ctx.Err() != nil || errors.Is(err, errClosed) {
			return
		}
		if added > 0 {
			pause = firstPause
		}
		if errors.Is(err, ErrRebuilding) {
			rebuilding()
			err = nil
		}
		if err == nil {
			pause, told = firstPause, false
			select {
			case <-ctx.Done():
				return
			case <-news:
			}
			continue
		}
		if e := (*EmbedError)(nil); errors.As(err, &e) {
			x.failed(err)
		} else if !told {
			told = true
			x.log.Warn("vectors cannot be kept now; searches go by words alone, and it is tried again", "error", err)
		}
		timer := time.NewTimer(max(pause, x.embedding.trouble.wait()))
		pause = min(2*pause, lastPause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// Vectors makes the vectors that are missing, of the newest 200,000 originals,
// newest first, and returns how many it added. Vectors of another model are
// dropped. Each batch is a transaction; after an error, or when ctx ends, what
// was added stays. An index that turns out to be damaged is ErrRebuilding.
// Without an endpoint it does nothing.
func (x *Index) Vectors(ctx context.Context, store *blobs.Store) (added int, err error) {
	if x.embedding == nil {
		return 0, nil
	}
	db, err := x.look()
	if err != nil {
		return 0, fmt.Errorf("make vectors: %w", err)
	}
	p := &vectoring{Index: x, db: db, store: store}
	err = x.guarded(func() error { return p.run(ctx) })
	if err == nil {
		return p.added, nil
	}
	if damaged(err) {
		x.condemn(db, reason(err))
	}
	if now, lerr := x.look(); lerr != nil || now != db { // it was replaced meanwhile
		err = cmp.Or(lerr, ErrRebuilding)
	}
	err = fmt.Errorf("make vectors: %w", err)
	return p.added, err
}

// vectoring is one pass over the originals.
type vectoring struct {
	*Index
	db    *database
	store *blobs.Store
	added int
}

func (p *vectoring) run(ctx context.Context) error {
	least, before, err := p.db.prepareVectors(ctx, p.embedding.Model)
	if err != nil {
		return err
	}
	for {
		missing, err := p.db.unvectored(ctx, least, before)
		if err != nil || len(missing) == 0 {
			return err
		}
		before = missing[len(missing)-1].id
		if err := p.batch(ctx, p.texts(missing)); err != nil {
			return err
		}
	}
}

// texts reads what some originals say. One that cannot be read now is left for
// another pass.
func (p *vectoring) texts(missing []vectored) []vectored {
	var out []vectored
	for _, v := range missing {
		b, err := p.store.Get(v.hash)
		if err != nil {
			continue // Sync has logged it, or a search passes over it
		}
		v.text = saidText(string(b.Body))
		out = append(out, v)
	}
	return out
}

// saidText is the beginning of what an original says.
func saidText(body string) string {
	var b strings.Builder
	for s := range said(body) {
		if b.Len() > 4*embedRunes {
			break
		}
		b.WriteString(cutBytes(body[s.from:s.to], 4*embedRunes))
		b.WriteByte('\n')
	}
	return cutRunes(blobs.Unescape(b.String()), embedRunes)
}

// cutRunes bounds a text that goes to the endpoint.
func cutRunes(text string, most int) string {
	runes := []rune(strings.ToValidUTF8(text, "\uFFFD"))
	return strings.TrimSpace(string(runes[:min(len(runes), most)]))
}

// batch asks for the vectors of some originals and writes them. One that says
// nothing gets an empty vector, and is not looked at again.
func (p *vectoring) batch(ctx context.Context, list []vectored) error {
	var ask, silent []vectored
	for _, v := range list {
		if v.text == "" {
			silent = append(silent, v)
		} else {
			ask = append(ask, v)
		}
	}
	err := p.db.addVectors(ctx, p.embedding.Model, silent)
	if err != nil || len(ask) == 0 {
		return err
	}
	if err = p.send(ctx, ask); refused(err) {
		return p.alone(ctx, ask, err)
	}
	return err
}

func refused(err error) bool {
	var e *EmbedError
	return errors.As(err, &e) && e.refused()
}

// alone sends each text of a refused batch by itself, and then a quarter of it:
// one that is too long must not hold up the others. What is refused still gets an
// empty vector. An endpoint that takes nothing at all is not asked about each.
func (p *vectoring) alone(ctx context.Context, list []vectored, cause error) error {
	if !p.takes(ctx) {
		return cause
	}
	var bad []vectored
	for _, v := range list {
		err := cause
		if len(list) > 1 {
			err = p.send(ctx, []vectored{v})
		}
		if short := v; refused(err) {
			if short.text = cutRunes(v.text, embedRunes/4); short.text != v.text {
				err = p.send(ctx, []vectored{short})
			}
		}
		if refused(err) {
			bad = append(bad, v)
		} else if err != nil {
			return err
		}
	}
	if len(bad) == 0 {
		return nil
	}
	if !p.takes(ctx) { // since when, nobody knows
		return cause
	}
	p.log.Warn("the embeddings endpoint refuses originals; they are found by their words alone", "originals", len(bad), "error", cause)
	return p.db.addVectors(ctx, p.embedding.Model, bad)
}

// takes reports whether the endpoint takes any text.
func (p *vectoring) takes(ctx context.Context) bool {
	_, err := p.ask(ctx, []string{"hello"})
	return err == nil
}

// send asks for vectors and writes them.
func (p *vectoring) send(ctx context.Context, list []vectored) error {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = v.text
	}
	vectors, err := p.ask(ctx, texts)
	if err != nil {
		return err
	}
	have, err := p.db.vectorSize(ctx, p.db.read, p.embedding.Model)
	if err != nil {
		return err
	}
	if dims := len(vectors[0]); have > 0 && dims != have {
		return p.embedding.fail(0, nil, "its vectors have %d numbers now, and had %d before: is it another model?", dims, have)
	}
	for i, v := range vectors {
		list[i].vector = v
	}
	if err := p.db.addVectors(ctx, p.embedding.Model, list); err != nil {
		return err
	}
	p.added += len(list)
	p.answered()
	return nil
}

func (p *vectoring) ask(ctx context.Context, texts []string) ([][]float32, error) {
	wait := embedTime
	if p.embedding.Timeout > 0 {
		wait = p.embedding.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return p.embedding.embed(ctx, texts)
}
