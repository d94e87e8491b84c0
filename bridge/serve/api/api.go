// Package api is what there is to see and do in a home, as JSON over HTTP: identities and their
// logs, rooms, blobs, questions, budgets, triggers and jobs.
//
//	api.Routes(mux, b) // below /api/, behind the guard of package serve
//
// Each resource is a route: a function with Go types for its parameters, its body and its answer.
// The types check the request and make the description at /api/openapi.json, so that none lacks its
// own. docs/api.md tells how to use it.
package api

import (
	"encoding/json"
	"net/http"

	"lethe/bridge/serve/backend"
	"lethe/report"
)

// Routes mounts the resources.
func Routes(mux *http.ServeMux, b *backend.Backend) {
	all := routes(b)
	description, err := json.Marshal(describe(all))
	if err != nil {
		panic(err) // of a type that JSON cannot have
	}
	for _, t := range all {
		mux.Handle(t.method+" "+t.path, t)
	}
	mux.HandleFunc("GET /api/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonMedia)
		w.Write(description)
	})
}

type server struct{ *backend.Backend }

func routes(b *backend.Backend) []route {
	s := server{b}
	return []route{
		get("/api/agents", "List the identities, children behind their parents.", s.agents),
		get("/api/agents/{self}", "Say how an identity is: its state, size, tokens and cost.", self(s, s.agent)),
		get("/api/agents/{self}/context", "Say what the next request of an identity holds, part by part in tokens, and its messages.", self(s, s.context)),
		get("/api/agents/{self}/life", "List what happened to an identity, as events, from the oldest on.", self(s, s.life)),
		raw[followed, string]("GET", "/api/agents/{self}/events", "Tell what happens to an identity, as server-sent events: those of /life, and what streams. The id of each is where to go on behind it, for ever.", "text/event-stream", s.follow),
		get("/api/agents/{self}/questions", "List the questions that an identity waits for an answer to.", self(s, s.questionsOf)),
		get("/api/agents/{self}/budget", "Say what an identity has spent, and its limits.", self(s, s.budget)),
		send("POST", "/api/agents/{self}/budget", http.StatusAccepted, "Raise a limit of an identity: say /budget +N in a room that it hears.", selfBody(s, s.raise)),
		get("/api/agents/{self}/triggers", "List what wakes an identity by itself, with the next times and the history.", self(s, s.triggers)),
		send("POST", "/api/agents/{self}/triggers/{trigger}/run", http.StatusAccepted, "Have a trigger fire once, now, or when the identity runs.", selfBody(s, s.fire)),
		get("/api/agents/{self}/jobs", "List the commands that an identity runs beside the talk, the newest first.", self(s, s.jobs)),
		send("POST", "/api/agents/{self}/jobs/{job}/stop", http.StatusOK, "Stop a job, and wait until it has ended.", selfBody(s, s.stopJob)),
		get("/api/agents/{self}/recall", "Search what an identity has forgotten.", self(s, s.recall)),
		send("POST", "/api/agents/{self}/stop", http.StatusAccepted, "End the turn of an identity: say /stop in a room that it hears.", selfBody(s, s.stop)),
		get("/api/budget", "Say what all identities have spent, and the limits.", func(*http.Request, none) (report.Budgets, error) { return s.Budgets() }),
		get("/api/questions", "List the questions that are open, the oldest first.", s.questions),
		send("POST", "/api/questions/{question}", http.StatusAccepted, "Answer a question: say the answer in its room.", s.answer),
		get("/api/rooms", "List the rooms, that which changed last first.", s.rooms),
		send("POST", "/api/rooms", http.StatusCreated, "Make a room, and have identities hear it.", s.makeRoom),
		get("/api/rooms/{room}", "Describe a room.", func(_ *http.Request, p inRoom) (backend.Room, error) { return s.Room(p.Room) }),
		send("PATCH", "/api/rooms/{room}", http.StatusOK, "Change the title of a room, archive it, or note how far it was read.", s.noteRoom),
		get("/api/rooms/{room}/lines", "List lines of a room in the order of the file: the newest, those before a byte, or those behind one.", s.lines),
		send("POST", "/api/rooms/{room}/lines", http.StatusAccepted, "Say something in a room, exactly once for each Idempotency-Key.", s.say),
		raw[ofBlob, []byte]("GET", "/api/blobs/{hash}", "Print a stored text or file, checked against its hash.", "*/*", s.blob),
		get("/api/blobs/{hash}/meta", "Describe a stored text or file.", s.blobMeta),
		uploads(s.upload),
	}
}

// List is a part of a list.
type List[T any] struct {
	Items []T `json:"items"`
	// Next is the parameter after of the next part; none where the list ends, or ends for now.
	Next string `json:"next,omitempty"`
}

// page is how lists are asked for.
type page struct {
	After string `name:"after" about:"Where to go on: next of the part before."`
	Limit int    `name:"limit" about:"How many at most." default:"100" min:"1" max:"1000"`
}

// part takes the part of a list that is asked for. key names an item for ever.
func part[T any](p page, all []T, err error, key func(T) string) (List[T], error) {
	if err != nil {
		return List[T]{}, err
	}
	from := 0
	if p.After != "" {
		for from < len(all) && key(all[from]) != p.After {
			from++
		}
		if from++; from > len(all) {
			return List[T]{}, report.Invalid("after is %q, which is not in the list any more; begin anew", p.After)
		}
	}
	l := List[T]{Items: all[from:min(len(all), from+p.Limit)]}
	if n := from + len(l.Items); n < len(all) {
		l.Next = key(all[n-1])
	}
	return l, nil
}
