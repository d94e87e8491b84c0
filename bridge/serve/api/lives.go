package api

import (
	"io"
	"net/http"
	"os"
	"strings"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/bridge/report"
)

// Beginning is an identity to boot.
type Beginning struct {
	Name    string   `json:"name" jsonschema:"a lower-case letter, then up to 31 of a-z, 0-9 and -"`
	Soul    string   `json:"soul,omitempty" jsonschema:"its purpose; by default that of a helpful agent"`
	Rooms   []string `json:"rooms,omitempty" jsonschema:"that it hears; by default dev"`
	Offline bool     `json:"offline,omitempty" jsonschema:"with the offline model"`
}

func (s server) boot(asked call[none, Beginning]) (agent report.Agent, err error) {
	begin := asked.body
	id, err := s.Boot(asked.Context(), home.BootOptions{Name: begin.Name, Soul: begin.Soul, Rooms: begin.Rooms},
		host.Options{Offline: begin.Offline, Log: s.Log}, func() error { return nil })
	if err != nil {
		return agent, err
	}
	return s.Agent(id), nil
}

// Ended tells what has become of an identity.
type Ended struct {
	Name string `json:"name"`
	Ran  bool   `json:"ran"` // until now
}

func (s server) stop(asked call[none, none]) (Ended, error) {
	ran, err := report.Stop(asked.Context(), asked.id)
	return Ended{asked.id.Name, ran}, err
}

func (s server) remove(asked call[none, none]) (Ended, error) {
	return Ended{Name: asked.id.Name}, s.Remove(s.Store, asked.id)
}

type archiving struct {
	Copy      int    `name:"copy" default:"0" max:"1" about:"1: it goes on here, and may run."`
	Workspace int    `name:"workspace" default:"0" max:"1" about:"1: take the files in its workspace along."`
	To        string `name:"to" about:"Recipients of age, who alone can read it, with spaces between."`
}

// archive answers with a whole archive, or with an error. The life may be marked as moved then; asked again, it answers
// again.
func (s server) archive(w http.ResponseWriter, asked call[archiving, none]) error {
	file, err := os.CreateTemp(s.Dir, ".archive-")
	if err != nil {
		return err
	}
	defer file.Close()
	err = os.Remove(file.Name()) // nobody else finds it, and a kill leaves nothing
	if err == nil {
		err = s.Archive(file, asked.id, asked.params.Copy > 0, asked.params.Workspace > 0, strings.Fields(asked.params.To)...)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err == nil {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = io.Copy(w, file) // a client that has left asks again
	}
	return err
}
