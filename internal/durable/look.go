package durable

import (
	"io/fs"
	"os"
	"time"
)

// Look is the state of a file or a directory at one moment, taken before it is read.
type Look struct {
	fs.FileInfo // nil if it was missing
	at          time.Time
}

// LookAt returns the present state of a file or a directory. It follows links.
func LookAt(path string) Look {
	at := time.Now()
	fi, _ := os.Stat(path)
	return Look{fi, at}
}

// ClockStep is longer than one step of the clock of most file systems, 10 ms.
const ClockStep = 20 * time.Millisecond

// Same reports whether a file is surely unchanged since the look l. It returns false for a file that changed just
// before l: the clock of a file system advances in steps of up to 10 ms, or of 2 s if its times have no fraction, and
// a change after l in the same step would have the same time.
func (l Look) Same(now Look) bool {
	if !Unchanged(l.FileInfo, now.FileInfo) {
		return false
	}
	changed, step := Changed(now), ClockStep
	if changed.Nanosecond() == 0 {
		step = 2*time.Second + step
	}
	return changed.Equal(Changed(l)) && l.at.Sub(changed) > step
}

// Unchanged reports whether was and now are of the same file, with the same size and time. It returns false if either
// is nil.
func Unchanged(was, now fs.FileInfo) bool {
	if was == nil || now == nil {
		return false
	}
	sameContent := was.Size() == now.Size() && was.ModTime().Equal(now.ModTime())
	return sameContent && os.SameFile(was, now)
}

// Held reports whether somebody may have a file open for writing. It returns true if the file cannot be opened. On a
// system that does not tell, it returns true until a minute after the file's last change.
func Held(path string) bool {
	file, fi, err := OpenRegular(path, os.O_RDONLY, 0)
	if err != nil {
		return true
	}
	defer file.Close()
	held, known := writers(file)
	if !known {
		held = held || time.Since(fi.ModTime()) < time.Minute
	}
	return held
}
