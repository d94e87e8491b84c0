// Package api serves as JSON over HTTP what there is to see and do in a home: identities and their
// logs, rooms, blobs, questions, budgets, triggers and jobs.
//
//	api.Routes(mux, b) // below /api/, behind the guard of package serve
//
// Each resource is a route: a function with Go types for its parameters, its body and its answer.
// The types check the request, and a test makes of them the description of each route at /api/openapi.json. docs/api.md
// is the manual.
package api

import (
	_ "embed"
	"net/http"

	"lethe/bridge/serve/backend"
	"lethe/bridge/serve/guard"
)

//go:embed openapi.json
var description []byte

// Routes mounts the resources.
func Routes(mux *http.ServeMux, b *backend.Backend) {
	s := server{b}
	for _, t := range routes() {
		if t.answers != nil {
			t.serve = t.inJSON
		}
		mux.HandleFunc(t.method+" "+t.path, func(w http.ResponseWriter, r *http.Request) {
			err := unknown(r)
			if t.forPeople || guard.Person(r) == "" {
				err = t.serve(s, w, r)
			}
			if err != nil {
				backend.WriteError(w, err)
			}
		})
	}
	mux.HandleFunc("GET /api/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonMedia)
		_, _ = w.Write(description) // the client may be gone
	})
}

type server struct{ *backend.Backend }

func routes() []route {
	return []route{
		shared(get("/api/agents", "List the identities, children behind their parents.", server.agents)),
		shared(get("/api/agents/{self}", "Say how an identity is: its state, size, tokens and cost.", server.agent)),
		shared(get("/api/agents/{self}/context",
			"Say what the next request of an identity holds, part by part in tokens, and its messages.", server.context)),
		shared(get("/api/agents/{self}/life", "List what happened to an identity, as events, from the oldest on.", server.life)),
		send("POST", "/api/agents", http.StatusCreated, "Boot an identity, and have it be kept running.", server.boot),
		send("POST", "/api/agents/{self}/stop", http.StatusOK, "Stop an identity, and wait until it has.", server.stop),
		raw[archiving, []byte]("POST", "/api/agents/{self}/archive",
			"Write the life of an identity that does not run into one file. It then goes on where that is imported.",
			"application/octet-stream", server.archive),
		send("DELETE", "/api/agents/{self}", http.StatusOK,
			"Remove an identity that does not run, with its children and all of their files.", server.remove),
		raw[followed, string]("GET", "/api/agents/{self}/events",
			"Tell what happens to an identity, as server-sent events: those of /life, and what streams. "+
				"The id of each is where to go on behind it, for ever.", "text/event-stream", server.follow),
		get("/api/agents/{self}/budget", "Say what an identity has spent, and its limits.", server.budget),
		get("/api/agents/{self}/triggers",
			"List what wakes an identity by itself, with the next times and the history.", server.triggers),
		send("POST", "/api/agents/{self}/triggers/{trigger}/run", http.StatusAccepted,
			"Have a trigger fire once, now, or when the identity runs.", server.fire),
		get("/api/agents/{self}/jobs",
			"List the commands that an identity runs beside the talk, the newest first.", server.jobs),
		send("POST", "/api/agents/{self}/jobs/{job}/stop", http.StatusOK,
			"Stop a job, and wait until it has ended.", server.stopJob),
		shared(get("/api/agents/{self}/recall", "Search what an identity has forgotten.", server.recall)),
		get("/api/budget", "Say what all identities have spent, and the limits.", server.budgets),
		get("/api/questions", "List the questions that are open, the oldest first.", server.questions),
		send("POST", "/api/questions/{question}", http.StatusAccepted,
			"Answer a question: say the answer in its room.", server.answer),
		shared(get("/api/rooms", "List the rooms, that which changed last first.", server.rooms)),
		send("POST", "/api/rooms", http.StatusCreated, "Make a room, and have identities hear it.", server.makeRoom),
		shared(get("/api/rooms/{room}/lines",
			"List lines of a room in the order of the file: the newest, those before a byte, or those behind one.",
			server.lines)),
		shared(send("POST", "/api/rooms/{room}/lines", http.StatusAccepted,
			"Say something in a room, exactly once for each Idempotency-Key.", server.say)),
		raw[none, []byte]("GET", "/api/blobs/{hash}",
			"Print a stored text or file, checked against its hash.", "*/*", server.blob),
		uploads,
	}
}

// List is a list, or a part of a long one.
type List[T any] struct {
	Items []T `json:"items"`
	// Next is the parameter after of the next part; it is missing where the list ends, or ends for now.
	Next string `json:"next,omitempty"`
}

// once is the key of a request that may be repeated.
type once struct {
	Key string `name:"Idempotency-Key" in:"header" about:"Up to 255 bytes. A request with a key is said once."`
}
