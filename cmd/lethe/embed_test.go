package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An endpoint for embeddings is named in full or not at all, and its key goes
// nowhere else.
func TestEmbeddingsSettings(t *testing.T) {
	t.Setenv(embeddingsVariable, " sk-embeddings \n")
	for text, good := range map[string]bool{
		"": true,
		"[recall]\nembeddings_url = \"\"\nembeddings_model = \"\"\n":                       true,
		"[recall]\nembeddings_url = \"http://127.0.0.1:1/v1\"\nembeddings_model = \"m\"\n": true,
		"[recall]\nembeddings_url = \"http://127.0.0.1:1/v1\"\n":                           false,
		"[recall]\nembeddings_model = \"m\"\n":                                             false,
		"[recall]\nembeddings_url = \"127.0.0.1:1\"\nembeddings_model = \"m\"\n":           false,
		"[recall]\nembeddings_url = \"https://a:b@host\"\nembeddings_model = \"m\"\n":      false,
	} {
		home := t.TempDir()
		if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := readSettings(home)
		if (err == nil) != good || err != nil && strings.Contains(err.Error(), "a:b@") {
			t.Errorf("%q: %v", text, err)
			continue
		}
		e := s.embedder()
		if configured := strings.Contains(text, "http://"); good && (e != nil) != configured {
			t.Errorf("%q: %+v", text, e)
		}
		if good && e != nil {
			if e.Key != "sk-embeddings" || e.Model != "m" {
				t.Errorf("%+v", e)
			}
			p := &program{settings: s}
			if (&world{p: p}).embedder() == nil || (&world{p: p, offline: true}).embedder() != nil {
				t.Error("an identity has no endpoint, or one when it is offline")
			}
		}
	}
	if env := bridgeEnv([]string{"PATH=/bin", embeddingsVariable + "=sk-embeddings"}); !slices.Equal(env, []string{"PATH=/bin"}) {
		t.Errorf("a bridge gets %q", env)
	}
}
