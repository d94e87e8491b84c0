package lives

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"lethe/agent/home"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/life"
)

// apply writes a segment to this disk: texts, then lines, then files.
func (c *Tenure) apply(ctx context.Context, segment Segment) error {
	c.at.Nonce = segment.Nonce
	if segment.Custody < c.at.Custody { // its host had lost the life when the store lost its newest texts
		return nil
	}
	c.at.Opening, c.at.Stopped = segment.Opening, segment.Stopped
	hasMoved := segment.Custody > c.at.Custody || c.at.Host.ID == "" // the text that began it may be lost
	if segment.Begins || hasMoved {
		if c.at.Host, c.at.Custody = segment.Host, segment.Custody; !c.mine() {
			if err := c.id.MarkMirror(segment.Custody); err != nil { // until it is settled here
				return err
			}
		}
	}
	if segment.Begins {
		return nil
	}
	c.at.Unsaved = segment.Unsaved
	if err := c.placeTexts(ctx, segment); err != nil {
		return err
	}
	for k := range segment.Files {
		file := &segment.Files[k]
		if file.Large.IsZero() {
			continue
		}
		data, err := c.large(ctx, file.Large)
		if err = c.without(file.Name, err); err != nil {
			return err
		}
		file.Data = data
	}
	segment.Files = slices.DeleteFunc(segment.Files, func(f File) bool { return !f.Large.IsZero() && f.Data == nil })
	for _, f := range segment.Files {
		if f.Name == "LIFE.erased" { // the lines are read with it
			if err := c.files.place(f, c.Log); err != nil {
				return err
			}
		}
	}
	if len(segment.Lines) > 0 {
		end, err := life.Graft(c.id.LIFE(), segment.After, segment.Lines)
		switch {
		case err == nil:
			c.at.Mark = end
		case errors.Is(err, life.ErrOtherLog) && c.at.Lacks > 0 && c.Lost != nil:
			aside := c.id.LIFE() + ".torn-store" // they were written behind lost ones, with which the log cannot go on
			if _, _, err := durable.Append(aside, segment.Lines, 0o600); err != nil {
				return err
			}
		default:
			return home.ReadError(err)
		}
	}
	for _, f := range segment.Files {
		if f.Name != workspaceFile {
			c.come[f.Name] = f
			continue
		}
		c.passOver()
		if err := c.files.place(f, c.Log); err != nil {
			return err
		}
	}
	return nil
}

// placeFiles writes the own files that came with segments. Those of a life that this host has stay if its log was this
// long: no line is new here, and the store may have lost newer files.
func (c *Tenure) placeFiles(had int64) error {
	for _, f := range c.come {
		if c.mine() && c.at.Mark.Offset <= had {
			c.files.learn([]File{f})
			continue
		}
		if err := c.files.place(f, c.Log); err != nil {
			return err
		}
	}
	clear(c.come)
	return nil
}

// passOver notes the files of workspace.list, which another list replaces.
func (c *Tenure) passOver() {
	for name, now := range c.listed() {
		if c.at.Stale == nil {
			c.at.Stale = map[string]bool{}
		}
		c.at.Stale[now.as(name)] = true
	}
}

func (c *Tenure) placeTexts(ctx context.Context, segment Segment) error {
	var later durable.Syncs
	for _, text := range segment.Texts {
		if _, err := c.store.Adopt(&later, text); err != nil {
			return err
		}
	}
	for _, hash := range segment.Large {
		if c.store.Has(hash) {
			continue
		}
		text, err := c.large(ctx, hash)
		if err == nil {
			_, err = c.store.Adopt(&later, text)
		}
		if err = c.without(hash.String(), err); err != nil {
			return err
		}
	}
	return later.Wait()
}

// without tells of a large text that the store has lost, if the life goes on without it.
func (c *Tenure) without(what string, err error) error {
	if !streams.Unreadable(err) || c.Lost == nil {
		return err
	}
	c.lack(1)
	c.lose(fmt.Errorf("%s: %w", what, err))
	return nil
}

// large returns a text that putLarge has stored.
func (c *Tenure) large(ctx context.Context, hash blobs.Hash) ([]byte, error) {
	return c.Streams.Large(ctx, c.stream(), hash)
}

func (c *Tenure) putLarge(ctx context.Context, hash blobs.Hash, text []byte) error {
	return c.Streams.PutLarge(ctx, c.stream(), hash, text)
}
