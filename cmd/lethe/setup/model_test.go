package setup

import "testing"

// The model that is kept is the one that was chosen, also where its name begins with a preset.
func TestModelKept(t *testing.T) {
	here := []string{"ollama:llama3.2:3b", "ollama:mistral:7b"}
	for answer, want := range map[string]string{
		"ollama": "llama3.2:3b", "ollama:mistral:7b": "ollama:mistral:7b", "deepseek": "", "openai:gpt-5.1@high": "gpt-5.1@high",
	} {
		if got := kept(chosen(answer, here)); got != want {
			t.Errorf("%s is kept as %q, want %q", answer, got, want)
		}
	}
}
