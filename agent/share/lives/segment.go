package lives

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"lethe/agent/home"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/life"
)

// Segment is one text of the stream of a life. A segment with Begins only names the host that has the life from then
// on.
type Segment struct {
	Lethe   int          `json:"lethe"` // the version of the form
	Self    string       `json:"self"`
	Host    streams.Host `json:"host"`
	Custody int          `json:"custody"`          // how often the life was handed over to another host or home
	Begins  bool         `json:"begins,omitempty"` // the custody of Host
	Nonce   string       `json:"nonce"`
	Opening bool         `json:"opening,omitempty"` // the life is not whole in the stream: Host goes on to store it
	Stopped bool         `json:"stopped,omitempty"` // somebody has stopped the life

	After life.Mark    `json:"after"` // where the log ended before Lines
	Blobs int          `json:"blobs"` // how many Texts there are
	Large []blobs.Hash `json:"large,omitempty"`
	Files []File       `json:"files,omitempty"` // of the identity's own that were changed

	Lines []byte    `json:"-"` // of LIFE
	Texts [][]byte  `json:"-"` // files of blobs that the lines name
	end   life.Mark // behind Lines, where they were cut from the log
}

// File is one of an identity's own files.
type File struct {
	Name  string     `json:"name"`           // below the directory of the identity
	Large blobs.Hash `json:"large,omitzero"` // of Data that is stored by itself, for its size
	Gone  bool       `json:"gone,omitempty"`
	Data  []byte     `json:"-"`
}

const version = 1

func (s Segment) encode() []byte {
	s.Lethe, s.Blobs = version, len(s.Texts)
	parts := append([][]byte{s.Lines}, s.Texts...)
	for _, f := range s.Files {
		parts = append(parts, f.Data)
	}
	return streams.Join(s, parts...)
}

func (s Segment) size() int {
	n := len(s.Lines)
	for _, text := range s.Texts {
		n += len(text)
	}
	for _, f := range s.Files {
		n += len(f.Data)
	}
	return n
}

// isNews reports whether a segment says anything.
func (s Segment) isNews() bool {
	names := s.Files != nil || s.Large != nil
	return names || s.size() > 0
}

// ends reports whether no host goes on with the life behind a segment.
func (s Segment) ends() bool { return s.Begins && s.Host.ID == "" }

func decode(text []byte) (s Segment, err error) {
	parts, err := streams.Split(text, &s)
	switch {
	case err != nil:
		return s, err
	case s.Lethe > version:
		return s, errors.New("a newer Lethe wrote it")
	case s.Blobs < 0 || len(parts) != 1+s.Blobs+len(s.Files):
		return s, errors.New("it has not the parts that it says")
	}
	s.Lines, s.Texts = parts[0], parts[1:1+s.Blobs]
	for k := range s.Files {
		if s.Files[k].Data = parts[1+s.Blobs+k]; !shared(s.Files[k].Name) {
			return s, fmt.Errorf("it has a file %.99q", s.Files[k].Name)
		}
	}
	return s, nil
}

// hostsOnly are the files that go with a life to other hosts of its home, and not into archives.
var hostsOnly = []string{"task.toml", workspaceFile}

// shared reports whether a file of that name goes with a life to another host. Triggers that begin with a dot stay.
func shared(name string) bool {
	if slices.Contains(hostsOnly, name) {
		return true
	}
	isHidden := strings.HasPrefix(path.Base(name), ".")
	return home.Belongs(name) && !isHidden
}

// workspaceFile lists the files of the workspace as they were last stored.
const workspaceFile = "workspace.list"
