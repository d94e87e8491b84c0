package rehearsal

import (
	"math/big"
	"regexp"
	"strings"
)

var (
	sumAsked = regexp.MustCompile(`(?i)^(?:(?:what(?:'s| is)|how much is|calculate|compute|work out)\s+)?(.+?)\s*=?$`)
	sumOnly  = regexp.MustCompile(`^[-+*/%().\d\s]+$`)
	sumWords = strings.NewReplacer(" plus ", "+", " minus ", "-", " times ", "*", " multiplied by ", "*",
		" divided by ", "/", " over ", "/", "×", "*", "÷", "/", "−", "-")
	timesX = regexp.MustCompile(`(\d)\s*x\s*(\d)`)
)

// maxSum bounds an expression, in bytes; its result grows no faster.
const maxSum = 200

// arithmetic reads a question for the value of an expression and answers it.
func arithmetic(text string) (intent, bool) {
	m := sumAsked.FindStringSubmatch(text)
	if m == nil || len(m[1]) > maxSum {
		return intent{}, false
	}
	expr := timesX.ReplaceAllString(sumWords.Replace(strings.ToLower(m[1])), "$1*$2")
	// A number alone, or a date or a path, is no sum.
	if !sumOnly.MatchString(expr) || !strings.ContainsAny(strings.TrimLeft(expr, "-+ "), "+-*/%") {
		return intent{}, false
	}
	p := sum{rest: strings.Join(strings.Fields(expr), "")}
	v := p.terms()
	if p.bad || p.rest != "" {
		return intent{}, false
	}
	in := intent{verb: mathVerb, a: m[1]}
	if v == nil {
		in.b = "Division by zero has no result."
	} else {
		in.b = m[1] + " = " + decimal(v)
	}
	return in, true
}

// decimal writes a number exactly when it has at most six decimals, else
// rounded.
func decimal(v *big.Rat) string {
	if v.IsInt() {
		return v.Num().String()
	}
	s := strings.TrimRight(v.FloatString(6), "0")
	if exact, ok := new(big.Rat).SetString(s); ok && exact.Cmp(v) == 0 {
		return s
	}
	return v.FloatString(6) + "…"
}

// A sum is a recursive descent over what is left of an expression. A nil value
// is a division by zero.
type sum struct {
	rest string
	bad  bool
}

func (p *sum) take(ops string) byte {
	if p.rest != "" && strings.IndexByte(ops, p.rest[0]) >= 0 {
		op := p.rest[0]
		p.rest = p.rest[1:]
		return op
	}
	return 0
}

func (p *sum) terms() *big.Rat {
	v := p.factors()
	for op := p.take("+-"); op != 0; op = p.take("+-") {
		w := p.factors()
		switch {
		case v == nil || w == nil:
			v = nil
		case op == '+':
			v = new(big.Rat).Add(v, w)
		default:
			v = new(big.Rat).Sub(v, w)
		}
	}
	return v
}

func (p *sum) factors() *big.Rat {
	v := p.atom()
	for op := p.take("*/%"); op != 0; op = p.take("*/%") {
		v = apply(op, v, p.atom(), &p.bad)
	}
	return v
}

func apply(op byte, v, w *big.Rat, bad *bool) *big.Rat {
	switch {
	case v == nil || w == nil:
		return nil
	case op == '*':
		return new(big.Rat).Mul(v, w)
	case w.Sign() == 0:
		return nil
	case op == '/':
		return new(big.Rat).Quo(v, w)
	case !v.IsInt() || !w.IsInt():
		*bad = true
		return v
	}
	return new(big.Rat).SetInt(new(big.Int).Rem(v.Num(), w.Num()))
}

func (p *sum) atom() *big.Rat {
	switch p.take("-+(") {
	case '-':
		if v := p.atom(); v != nil {
			return new(big.Rat).Neg(v)
		}
		return nil
	case '+':
		return p.atom()
	case '(':
		v := p.terms()
		if p.take(")") == 0 {
			p.bad = true
		}
		return v
	}
	n := len(p.rest) - len(strings.TrimLeft(p.rest, "0123456789."))
	v, ok := new(big.Rat).SetString(p.rest[:n])
	p.rest = p.rest[n:]
	if !ok {
		p.bad = true
		return new(big.Rat)
	}
	return v
}
