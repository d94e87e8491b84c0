package host_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/agent/host"
)

// A program that embeds an identity.
func Example() {
	host.Main() // first: BASH runs this program again, to confine commands

	dir, err := os.MkdirTemp("", "lethe")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	h, err := host.Open(dir, host.Options{Offline: true})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	ada, err := h.Start(ctx, home.BootOptions{Name: "ada", Soul: "You look after the garden."})
	if err != nil {
		log.Fatal(err)
	}
	for _, text := range []string{"remember that the gate is green", "what did I say about the gate?"} {
		reply, err := ada.Say(ctx, "", text)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s\n", reply.Name, reply.Text)
	}

	for e, err := range ada.Events(ctx, "") { // from the beginning of its life, and on for ever
		if err != nil {
			log.Fatal(err)
		}
		if e.Type == events.UserMessage {
			fmt.Println("heard in", e.Room+":", e.Text)
		}
		if e.Type == events.TurnEnd && e.Turn == 2 {
			break
		}
	}
	// Output:
	// ada: I will remember: the gate is green
	// ada: You said: “the gate is green”
	// heard in dev: remember that the gate is green
	// heard in dev: what did I say about the gate?
}
