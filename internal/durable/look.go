package durable

import (
	"io/fs"
	"os"
	"time"
)

// Look is how a file or a directory looked before it was read.
type Look struct {
	fs.FileInfo // nil: it was missing
	at          time.Time
}

// LookAt looks at a file or a directory; links are followed.
func LookAt(path string) Look {
	at := time.Now()
	fi, _ := os.Stat(path)
	return Look{fi, at}
}

// ClockStep is more than what the clock of most file systems goes on by at once, 10 ms.
const ClockStep = 20 * time.Millisecond

// Same reports whether a file that looked so when it was read is as it was. The clock of a file system goes on in
// steps, of up to 10 ms, or of 2 s where its times have no fraction: a change so shortly before the reading cannot be
// told from one after it, and is none that Same vouches for.
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

// Unchanged reports whether a file that is there looks the same twice.
func Unchanged(was, now fs.FileInfo) bool {
	return was != nil && now != nil && os.SameFile(was, now) && was.Size() == now.Size() && was.ModTime().Equal(now.ModTime())
}

// Held reports whether somebody may have a file open for writing. Where the system does not tell, that is until a minute
// after its last change.
func Held(path string) bool {
	f, fi, err := OpenRegular(path, os.O_RDONLY, 0)
	if err != nil {
		return true
	}
	defer f.Close()
	held, known := writers(f)
	return held || !known && time.Since(fi.ModTime()) < time.Minute
}
