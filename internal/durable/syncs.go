package durable

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// Syncs are files and directories that were changed and are not durable yet. Wait syncs all of them at once, which
// takes about as long as one of them. The zero value is empty; one goroutine at a time may use it.
//
// Until Wait returns nil a power loss may take, or damage, any of what was written, and leave the rest.
type Syncs struct {
	all  []unsynced
	then []func()
}

type unsynced struct {
	path string
	file *os.File // nil for a directory
	ours bool     // to be closed
}

// maxUnsynced bounds how many files a set keeps open.
const maxUnsynced = 64

// syncing bounds the goroutines that sync, of the whole process; beyond, each set syncs one after the other.
var syncing = make(chan struct{}, 64)

// Wait makes all of the set durable, and empties it. While a test watches, one is synced after the other, up to the
// first that fails, records before files: then the tests see lines whose texts are not synced.
func (s *Syncs) Wait() error {
	all, then, watched := s.all, s.then, Fault != nil || Trace != nil
	*s = Syncs{}
	var wg sync.WaitGroup
	errs := make([]error, len(all))
	for i, u := range all {
		if watched && i > 0 && errs[i-1] != nil {
			break
		}
		if !watched && i < len(all)-1 {
			select {
			case syncing <- struct{}{}:
				wg.Go(func() {
					errs[i] = u.sync()
					<-syncing
				})
				continue
			default:
			}
		}
		errs[i] = u.sync()
	}
	wg.Wait()
	for _, u := range all {
		if u.ours {
			_ = u.file.Close() // it was synced, or has failed
		}
	}
	err := cmp.Or(errs...)
	for _, do := range then {
		if err == nil {
			do()
		}
	}
	return err
}

// Then has Wait call a function when all of the set is durable.
func (s *Syncs) Then(do func()) { s.then = append(s.then, do) }

func (u unsynced) sync() error {
	if u.file == nil {
		return SyncDir(u.path)
	}
	return step("sync", u.path, func() error { return traced(u.file.Sync(), Op{Kind: "sync", Path: u.path}) })
}

// Dir adds the names in a directory to the set.
func (s *Syncs) Dir(dir string) {
	if !slices.ContainsFunc(s.all, func(u unsynced) bool { return u.file == nil && u.path == dir }) {
		s.all = append(s.all, unsynced{path: dir})
	}
}

// Sync is the function Sync, left to the set.
func (s *Syncs) Sync(path string) error {
	f, err := os.OpenFile(path, syscall.O_NONBLOCK, 0)
	if err == nil {
		err = s.add(path, f)
	}
	return err
}

// add adds an open file and its name to the set, which closes it.
func (s *Syncs) add(path string, f *os.File) error {
	s.all = append(s.all, unsynced{path, f, true})
	s.Dir(filepath.Dir(path))
	if len(s.all) < maxUnsynced {
		return nil
	}
	return s.Wait()
}

// WriteFileLater is WriteFile with its syncs left to a set. Until Wait returns nil a power loss may leave other bytes
// at path than the old or the new ones: it is for files of which each reader checks the bytes.
func WriteFileLater(s *Syncs, path string, data []byte, perm fs.FileMode) error {
	f, err := place(named(filepath.Dir(path)), filepath.Base(path), perm, whole(path, data), step)
	if err == nil {
		err = s.add(path, f)
	}
	return err
}

// AppendLater adds record to f, which is open with O_APPEND and has a durable name, with its sync left to a set,
// which does not close f. It is for the one writer of a file that ends in a newline or is empty.
func AppendLater(s *Syncs, f *os.File, record []byte) error {
	err := write("append", f.Name(), f, record)
	if err == nil {
		s.all = slices.Insert(s.all, 0, unsynced{path: f.Name(), file: f})
	}
	return err
}
