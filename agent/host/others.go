package host

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/tools"
	"lethe/agent/tools/mcp"
	"lethe/agent/tools/skills"
)

// Shelf returns the skills and programs of identities with these settings and workspaces.
func Shelf(h home.Home, settings config.Settings, workspaces ...string) *skills.Shelf {
	user, _ := os.UserHomeDir() // without one, there is nothing of theirs
	return skills.New(h.Dir, user, workspaces, settings.Tools.Roots, settings.Tools.Bash != tools.BashOff)
}

// Workspaces returns the configured workspace of all identities of a home, or each one's own.
func Workspaces(h home.Home, settings config.Settings) (dirs []string) {
	if settings.Tools.Workspace != "" {
		return []string{settings.Tools.Workspace}
	}
	all, _ := h.List() // what cannot be read has no workspace
	for _, id := range all {
		dirs = append(dirs, filepath.Join(id.Dir, "workspace"))
	}
	return dirs
}

// shelf is Shelf for an identity, which works in the workspace of its eldest ancestor unless one is named.
func (h *Host) shelf(id home.Identity, settings config.Settings, workspace string) *skills.Shelf {
	if workspace == "" {
		eldest := append([]string{id.Self}, home.Ancestry(h.store, id.Self)...)
		workspace = filepath.Join(h.home.Agents(), eldest[len(eldest)-1], "workspace")
	}
	workspace, _ = filepath.Abs(workspace) // else there is no working directory
	shelf := Shelf(h.home, settings, workspace)
	shelf.Tell = func(waiting []string) {
		h.log.Warn(fmt.Sprintf("not offered until people allow them: %s; lethe skills allow --workspace %s NAME shows and "+
			"allows one", home.Shorten(waiting), workspace))
	}
	return shelf
}

// servers returns the servers of tools that are configured, or nil.
func (h *Host) servers() *mcp.Servers {
	all := maps.Clone(h.settings.MCP)
	maps.DeleteFunc(all, func(_ string, s mcp.Server) bool { return s.URL == "" && !confines.Load() })
	if len(all) == 0 {
		return nil
	}
	return mcp.New(mcp.Config{
		Servers: all, Home: h.home.Dir, Secrets: h.options.Secrets, Log: h.log,
		Trusted: h.settings.Tools.Bash == tools.BashTrusted,
	})
}
