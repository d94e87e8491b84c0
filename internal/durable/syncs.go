package durable

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// Syncs is a set of changed files and directories that are not durable yet. Wait syncs them all at once, which takes
// about as long as syncing one. The zero value is empty; one goroutine at a time may use it.
//
// Until Wait returns nil a power loss may lose or damage any of these changes, and keep others.
type Syncs struct {
	all  []unsynced
	then []func()
}

type unsynced struct {
	path string
	file *os.File // nil for a directory
	ours bool     // Wait closes the file
}

// maxUnsynced is the most files and directories that a set collects; adding one more calls Wait.
const maxUnsynced = 64

// syncing bounds the goroutines that sync in the whole process. Without a free place in it, Wait syncs by itself.
var syncing = make(chan struct{}, 64)

// Wait makes all of the set durable, and empties it. While a test watches, it syncs one after the other, records before
// files, up to the first that fails: so tests meet lines whose texts are not synced.
func (s *Syncs) Wait() error {
	all, then, watched := s.all, s.then, Fault != nil || Trace != nil
	*s = Syncs{}
	var wg sync.WaitGroup
	errs := make([]error, len(all))
	for at, each := range all {
		if watched && at > 0 { // unwatched, another goroutine may be writing errs
			if errs[at-1] != nil {
				break
			}
		}
		if !watched && at < len(all)-1 {
			select {
			case syncing <- struct{}{}:
				wg.Go(func() {
					errs[at] = each.sync()
					<-syncing
				})
				continue
			default:
			}
		}
		errs[at] = each.sync()
	}
	wg.Wait()
	for _, each := range all {
		if each.ours {
			_ = each.file.Close() // it was synced, or has failed
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	for _, do := range then {
		do()
	}
	return nil
}

// Then makes Wait call do once all of the set is durable.
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

// add adds an open file and its name to the set. Wait closes the file.
func (s *Syncs) add(path string, f *os.File) error {
	s.all = append(s.all, unsynced{path, f, true})
	s.Dir(filepath.Dir(path))
	if len(s.all) < maxUnsynced {
		return nil
	}
	return s.Wait()
}

// WriteFileLater is WriteFile with its syncs left to a set. Until Wait returns nil a power loss may leave other bytes
// at path than the old or the new ones: use it for files whose readers check their bytes.
func WriteFileLater(s *Syncs, path string, data []byte, perm fs.FileMode) error {
	f, err := place(named(filepath.Dir(path)), filepath.Base(path), perm, whole(path, data), step)
	if err == nil {
		err = s.add(path, f)
	}
	return err
}

// AppendLater adds record to f and leaves the sync to a set, which does not close f. f is open with O_APPEND, has a
// durable name and ends in a newline or is empty. Only one writer of a file at a time may call it.
func AppendLater(s *Syncs, f *os.File, record []byte) error {
	err := write("append", f.Name(), f, record)
	if err == nil {
		s.all = append([]unsynced{{path: f.Name(), file: f}}, s.all...)
	}
	return err
}
