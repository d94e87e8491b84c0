//go:build unix

package deploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"go.yaml.in/yaml/v3"

	"lethe/internal/test/lethetest"
)

// The server reads its file as the page on machines promises: each write is synced, and there are three of a cluster.
func TestNATS(t *testing.T) {
	t.Setenv("NAME", "nats1")
	o, err := server.ProcessConfigFile("nats.conf")
	lethetest.Must(t, err)
	if o.ServerName != "nats1" || !o.JetStream || !o.SyncAlways || o.StoreDir != "/data" || o.Cluster.Name == "" || len(o.Routes) != 3 {
		t.Errorf("%+v", o)
	}
}

// The compose file names files, volumes, images and a command that are there.
func TestCompose(t *testing.T) {
	type service struct {
		Image       string
		Command     []string
		Environment any
		Volumes     []string
		DependsOn   []string `yaml:"depends_on"`
	}
	var file struct {
		Services map[string]service
		Volumes  map[string]any
	}
	lethetest.Must(t, yaml.Unmarshal([]byte(read(t, "compose.yaml")), &file))
	t.Setenv("NAME", "nats1")
	o, err := server.ProcessConfigFile("nats.conf")
	lethetest.Must(t, err)
	for _, route := range o.Routes {
		if _, is := file.Services[route.Hostname()]; !is {
			t.Errorf("%s is no service", route)
		}
	}
	for name, s := range file.Services {
		for _, volume := range s.Volumes {
			from, to, _ := strings.Cut(volume, ":")
			_, named := file.Volumes[from]
			_, err := os.Stat(filepath.Join(".", from))
			if to == "" || !named && err != nil {
				t.Errorf("%s: volume %s: %v", name, volume, err)
			}
		}
		for _, other := range s.DependsOn {
			if _, is := file.Services[other]; !is {
				t.Errorf("%s depends on %s, which is no service", name, other)
			}
		}
		if strings.HasSuffix(s.Image, "/lethe") {
			exists(t, name, s.Command)
		} else if !strings.HasPrefix(s.Image, "docker.io/library/nats:2.") ||
			!strings.HasPrefix(name, s.Environment.(map[string]any)["NAME"].(string)) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
