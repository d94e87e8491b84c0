// Package memstore is a store of package share in memory, with faults, for tests of packages that use one.
package memstore

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"lethe/agent/share"
)

// Store keeps streams in memory. It is safe for concurrent use.
type Store struct {
	mu      sync.Mutex
	streams map[string]map[int][]byte
	looks   []chan struct{}
	Calls   map[string]int

	// Fault, if not nil, is asked before each call: an error is returned in place of an answer. done says that the call
	// is carried out all the same.
	Fault func(op, stream string, n int) (done bool, err error)
}

// New returns an empty store.
func New() *Store { return &Store{streams: map[string]map[int][]byte{}, Calls: map[string]int{}} }

func (s *Store) call(op, stream string, n int, do func() error) error {
	s.mu.Lock()
	fault := s.Fault
	s.mu.Unlock()
	done, failed := true, error(nil)
	if fault != nil {
		done, failed = fault(op, stream, n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Calls[op]++
	if failed != nil && !done {
		return failed
	}
	err := do()
	if failed != nil {
		return failed
	}
	return err
}

// Create is share.Store's, as are the others.
func (s *Store) Create(ctx context.Context, stream string, n int, data []byte) error {
	badSize := len(data) == 0 || len(data) > share.MostBytes
	if badSize || n < 1 {
		return fmt.Errorf("create %s %d: %d bytes", stream, n, len(data))
	}
	return s.call("create", stream, n, func() error {
		if s.streams[stream] == nil {
			s.streams[stream] = map[int][]byte{}
		}
		if there, is := s.streams[stream][n]; is {
			if bytes.Equal(there, data) {
				return nil
			}
			return share.ErrTaken
		}
		s.streams[stream][n] = bytes.Clone(data)
		for _, look := range s.looks {
			select {
			case look <- struct{}{}:
			default:
			}
		}
		return nil
	})
}

func (s *Store) Get(ctx context.Context, stream string, n int) (data []byte, err error) {
	err = s.call("get", stream, n, func() error {
		there, is := s.streams[stream][n]
		if !is {
			return share.ErrMissing
		}
		data = bytes.Clone(there)
		return nil
	})
	return data, err
}

func (s *Store) Newest(ctx context.Context, stream string, after int) (n int, err error) {
	err = s.call("newest", stream, after, func() error {
		n = s.newest(stream)
		return nil
	})
	return n, err
}

func (s *Store) Numbers(ctx context.Context, stream string) (all []int, err error) {
	err = s.call("numbers", stream, 0, func() error {
		all = slices.Collect(maps.Keys(s.streams[stream]))
		return nil
	})
	return all, err
}

func (s *Store) newest(stream string) (n int) {
	for k := range s.streams[stream] {
		n = max(n, k)
	}
	return n
}

func (s *Store) Watch(ctx context.Context, _ string) <-chan struct{} {
	look := make(chan struct{}, 1)
	look <- struct{}{}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks = append(s.looks, look)
	return look
}

func (s *Store) Delete(ctx context.Context, stream string, upto int, keep func(n int) bool) error {
	return s.call("delete", stream, upto, func() error {
		newest := s.newest(stream)
		maps.DeleteFunc(s.streams[stream], func(n int, _ []byte) bool {
			isOld := n <= upto && n < newest
			return isOld && !keep(n)
		})
		return nil
	})
}

func (s *Store) Drop(ctx context.Context, stream string) error {
	return s.call("drop", stream, 0, func() error {
		delete(s.streams, stream)
		return nil
	})
}

func (s *Store) List(ctx context.Context, prefix string) (names []string, err error) {
	err = s.call("list", prefix, 0, func() error {
		names = slices.DeleteFunc(slices.Sorted(maps.Keys(s.streams)), func(n string) bool { return !strings.HasPrefix(n, prefix) })
		return nil
	})
	return names, err
}

// Bytes returns a copy of the text with a number, for tests that look at it or change it with Set.
func (s *Store) Bytes(stream string, n int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.streams[stream][n])
}

// Set changes what is stored.
func (s *Store) Set(stream string, n int, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[stream][n] = data
}

// Remove forgets a text, as a hand or a rule of the bucket does.
func (s *Store) Remove(stream string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.streams[stream], n); len(s.streams[stream]) == 0 {
		delete(s.streams, stream)
	}
}

func (s *Store) Close() error { return nil }
