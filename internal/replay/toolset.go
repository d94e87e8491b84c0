package replay

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"lethe/tools"
)

// toolset is the tools array of an agent, whose tokens are part of every
// request. Nothing is ever run with it.
func toolset() (json.RawMessage, error) {
	dir, err := os.MkdirTemp("", "lethe-replay-*")
	if err != nil {
		return nil, fmt.Errorf("describe tools: %w", err)
	}
	defer os.RemoveAll(dir)
	agent := filepath.Join(dir, "agent")
	if err := os.Mkdir(agent, 0o700); err != nil {
		return nil, fmt.Errorf("describe tools: %w", err)
	}
	set, err := tools.New(tools.Config{Home: dir, AgentDir: agent, Workspace: filepath.Join(agent, "workspace")})
	if err != nil {
		return nil, fmt.Errorf("describe tools: %w", err)
	}
	return set.Schemas(), nil
}
