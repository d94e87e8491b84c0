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
	// Unsaved names files of the workspace that are not stored as they were at Host.
	Unsaved []string `json:"unsaved,omitempty"`

	Lines []byte    `json:"-"` // of LIFE
	Texts [][]byte  `json:"-"` // files of blobs that the lines name
	end   life.Mark // behind Lines, where they were cut from the log
	turns int64     // that end in its lines
}

// File is one of an identity's own files.
type File struct {
	Name  string     `json:"name"`           // below the directory of the identity
	Large blobs.Hash `json:"large,omitzero"` // of Data that is stored by itself, for its size
	Gone  bool       `json:"gone,omitempty"`
	Data  []byte     `json:"-"`
}

const version = 1

func (segment Segment) encode() []byte {
	segment.Lethe, segment.Blobs = version, len(segment.Texts)
	parts := append([][]byte{segment.Lines}, segment.Texts...)
	for _, file := range segment.Files {
		parts = append(parts, file.Data)
	}
	return streams.Join(segment, parts...)
}

func (segment Segment) size() int {
	n := len(segment.Lines)
	for _, text := range segment.Texts {
		n += len(text)
	}
	for _, file := range segment.Files {
		n += len(file.Data)
	}
	return n
}

// ends reports whether no host goes on with the life behind a segment.
func (segment Segment) ends() bool { return segment.Begins && segment.Host.ID == "" }

func decode(text []byte) (segment Segment, err error) {
	parts, err := streams.Split(text, &segment)
	switch {
	case err != nil:
		return segment, err
	case segment.Lethe > version:
		return segment, errors.New("a newer Lethe wrote it")
	case segment.Blobs < 0 || len(parts) != 1+segment.Blobs+len(segment.Files):
		return segment, errors.New("it has not the parts that it says")
	}
	segment.Lines, segment.Texts = parts[0], parts[1:1+segment.Blobs]
	for k := range segment.Files {
		if segment.Files[k].Data = parts[1+segment.Blobs+k]; !shared(segment.Files[k].Name) {
			return segment, fmt.Errorf("it has a file %.99q", segment.Files[k].Name)
		}
	}
	return segment, nil
}

// hostsOnly are the files that go with a life to other hosts of its home, and not into archives.
var hostsOnly = []string{"task.toml", workspaceFile, home.PlanFile}

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
