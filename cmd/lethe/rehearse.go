package main

import (
	"net"

	"lethe/agent/llm/rehearsal"
)

// rehearseCommand serves the offline model.
func (p *program) rehearseCommand(c call) error {
	addr := c.text("addr")
	if host, _, err := net.SplitHostPort(addr); err != nil || host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return usagef("--addr is %q; it is a loopback address with a port, such as 127.0.0.1:8080", addr)
	}
	server := rehearsal.New(rehearsal.Options{Pace: c.lasts("pace")})
	url, err := server.Listen(addr)
	if err != nil {
		return taken(err, "--addr")
	}
	p.announce(map[string]string{"serving": url}, "serving %s", url)
	return server.Serve(c)
}
