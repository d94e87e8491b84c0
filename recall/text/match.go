package text

// Matcher finds some terms among the tokens of a text. It belongs to one goroutine.
type Matcher struct {
	terms map[string]int
	stems Stems
	// starts has a bit for each way to begin that a matching token can have. Most
	// tokens have none, and need no stem.
	starts [1 << 16 / 64]uint64
}

// NewMatcher returns a matcher for terms as they stand in the index.
func NewMatcher(terms []string) *Matcher {
	m := &Matcher{terms: map[string]int{}, stems: Stems{}}
	for i, t := range terms {
		m.terms[t] = i
		m.mark(t)
	}
	for form, base := range irregular() {
		if _, ok := m.terms[base]; ok {
			m.mark(form)
		}
	}
	return m
}

// Find returns which of the terms a token is.
func (m *Matcher) Find(t Token) (term int, ok bool) {
	b := beginning(t.Text)
	if m.starts[b/64]&(1<<(b%64)) == 0 {
		return 0, false
	}
	term, ok = m.terms[m.stems.Term(t)]
	return term, ok
}

func (m *Matcher) mark(s string) {
	b := beginning(s)
	m.starts[b/64] |= 1 << (b % 64)
}

// beginning is the first two bytes of a token. Stemming leaves them as they are,
// but for irregular forms.
func beginning(s string) int {
	if len(s) == 1 {
		return int(s[0]) << 8
	}
	return int(s[0])<<8 | int(s[1])
}
