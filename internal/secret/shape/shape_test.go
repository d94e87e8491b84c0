package shape_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"lethe/internal/secret/shape"
)

var striker = shape.New(shape.Config{}, func() []byte { return []byte("of this test") })

const (
	hexes  = "0123456789abcdef"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
	alnum  = lower + upper + digits
	base64 = alnum + "+/"
)

// fake makes keys that look real. They are made at run time, so that no scanner finds them in this file.
type fake struct{ *rand.Rand }

func (f fake) of(alphabet string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[f.IntN(len(alphabet))])
	}
	return b.String()
}

func (f fake) uuid() string {
	return fmt.Sprint(f.of(hexes, 8), "-", f.of(hexes, 4), "-", f.of(hexes, 4), "-", f.of(hexes, 4), "-", f.of(hexes, 12))
}

func (f fake) pem(kind string) string {
	text := "-----BEGIN " + kind + "-----\n"
	for range 12 {
		text += f.of(base64, 64) + "\n"
	}
	return text + "-----END " + kind + "-----"
}

// keys are shapes of keys by name: a text around a key, and the key.
func (f fake) keys() map[string][2]string {
	all := map[string][2]string{}
	bare := func(name, key string) { all[name] = [2]string{"", key} }
	with := func(name, around, key string) { all[name] = [2]string{around, key} }
	bare("1password", "A3-"+f.of(upper, 6)+"-"+f.of(upper+digits, 11)+"-"+f.of(upper, 5)+"-"+f.of(digits, 5)+"-"+f.of(upper, 5))
	bare("age", "AGE-SECRET-KEY-"+"1"+f.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58))
	with("airtable", "airtable %s", "pat"+f.of(alnum, 14)+"."+f.of(hexes, 64))
	bare("alibaba", "LTA"+"I"+f.of(alnum, 20))
	bare("anthropic", "sk-"+"ant-api03-"+f.of(alnum, 93)+"AA")
	bare("anthropic oauth", "sk-"+"ant-oat01-"+f.of(alnum, 95))
	bare("artifactory", "AKC"+"p"+f.of(alnum, 69))
	bare("aws id", "AKI"+"A"+f.of(upper+"234567", 16))
	bare("aws temporary id", "ASI"+"A"+f.of(upper+"234567", 16))
	with("aws secret", "aws_secret_access_key = %s", f.of(base64, 40))
	bare("bedrock", "ABS"+"K"+f.of(alnum, 120))
	with("cloudflare", "CLOUDFLARE_API_KEY=%s", f.of(alnum, 40))
	bare("databricks", "dap"+"i"+f.of(hexes, 32))
	bare("deepseek", "sk-"+f.of(hexes, 32))
	bare("digitalocean", "dop"+"_v1_"+f.of(hexes, 64))
	with("discord", "discord client_secret: %s", f.of(alnum, 32))
	bare("docker", "dckr"+"_pat_"+f.of(alnum, 27))
	bare("doppler", "dp."+"pt."+f.of(alnum, 43))
	bare("dynatrace", "dt0"+"c01."+f.of(upper, 24)+"."+f.of(upper+digits, 64))
	bare("facebook page", "EAA"+"M"+f.of(alnum, 120))
	with("fastly", "fastly_token=%s", f.of(alnum, 32))
	bare("figma", "fig"+"d_"+f.of(alnum, 40))
	bare("flyio", "fo1"+"_"+f.of(alnum, 43))
	bare("gcp", "AIz"+"a"+f.of(alnum, 35))
	bare("github app", "ghs"+"_"+f.of(alnum, 36))
	bare("github fine grained", "github"+"_pat_"+f.of(alnum, 82))
	bare("github oauth", "gho"+"_"+f.of(alnum, 36))
	bare("github", "ghp"+"_"+f.of(alnum, 36))
	bare("gitlab", "glp"+"at-"+f.of(alnum, 20))
	bare("gitlab runner", "glr"+"t-"+f.of(alnum, 20))
	bare("google oauth secret", "GOC"+"SPX-"+f.of(alnum, 28))
	bare("google oauth token", "ya2"+"9."+f.of(alnum, 120))
	bare("grafana", "gls"+"a_"+f.of(alnum, 32)+"_"+f.of(hexes, 8))
	bare("groq", "gsk"+"_"+f.of(alnum, 52))
	with("heroku", "HEROKU_API_KEY=%s", f.uuid())
	bare("huggingface", "hf"+"_"+f.of(lower+upper, 34))
	bare("jwt", "ey"+"J"+f.of(alnum, 34)+"."+"eyJ"+f.of(alnum, 80)+"."+f.of(alnum, 43))
	bare("linear", "lin"+"_api_"+f.of(alnum, 40))
	with("mailgun", "MAILGUN_KEY=%s", "key-"+f.of(hexes, 32))
	bare("notion", "ntn"+"_"+f.of(digits, 11)+f.of(alnum, 35))
	bare("npm", "npm"+"_"+f.of(alnum, 36))
	bare("openai", "sk-"+"proj-"+f.of(alnum, 74)+"T3Blbk"+"FJ"+f.of(alnum, 74))
	bare("openai old", "sk-"+f.of(alnum, 20)+"T3Blbk"+"FJ"+f.of(alnum, 20))
	bare("openrouter", "sk-"+"or-v1-"+f.of(hexes, 64))
	bare("perplexity", "pplx"+"-"+f.of(alnum, 48))
	bare("planetscale", "pscale"+"_tkn_"+f.of(alnum, 43))
	bare("postman", "PMA"+"K-"+f.of(hexes, 24)+"-"+f.of(hexes, 34))
	bare("private key", f.pem("RSA PRIV"+"ATE KEY"))
	bare("private key of ssh", f.pem("OPENSSH PRIV"+"ATE KEY"))
	bare("pulumi", "pul"+"-"+f.of(hexes, 40))
	bare("pypi", "pypi-"+"AgEIcHlwaS5vcmc"+f.of(alnum, 80))
	bare("rubygems", "ruby"+"gems_"+f.of(hexes, 48))
	bare("sendgrid", "SG"+"."+f.of(alnum, 66))
	bare("sentry", "sntr"+"yu_"+f.of(hexes, 64))
	bare("shopify", "shp"+"at_"+f.of(hexes, 32))
	bare("slack app", "xap"+"p-1-"+f.of(upper, 11)+"-"+f.of(digits, 13)+"-"+f.of(hexes, 64))
	bare("slack bot", "xox"+"b-"+f.of(digits, 12)+"-"+f.of(digits, 12)+"-"+f.of(alnum, 24))
	bare("slack user", "xox"+"p-"+f.of(digits, 12)+"-"+f.of(digits, 12)+"-"+f.of(digits, 12)+"-"+f.of(hexes, 32))
	bare("slack webhook", "https://hooks."+"slack.com/services/"+f.of(alnum, 44))
	bare("square", "EAA"+"A"+f.of(alnum, 60))
	bare("stripe", "sk"+"_live_"+f.of(alnum, 24))
	bare("supabase", "sb"+"p_"+f.of(hexes, 40))
	bare("tailscale", "ts"+"key-auth-"+f.of(alnum, 17)+"-"+f.of(alnum, 32))
	bare("telegram", f.of("123456789", 10)+":A"+"A"+f.of(alnum, 33))
	bare("twilio", "S"+"K"+f.of(hexes, 32))
	bare("vault", "hv"+"s."+f.of(alnum, 95))
	bare("xai", "xa"+"i-"+f.of(alnum, 80))
	with("basic header", "Authorization: Basic %s", f.of(alnum, 30)+"==")
	with("bearer header", `{"authorization": "Bearer %s"}`, f.of(alnum, 40))
	with("curl header", `curl -H "Authorization: Bearer %s" https://a.b/c`, f.of(alnum, 40))
	with("database url", "postgres://app:%s@db.internal:5432/app", f.of(alnum, 16))
	with("token in url", "https://a.b/c?x=1&access_token=%s", f.of(alnum, 40))
	with("zendesk", "zendesk_key: '%s'", f.of(alnum, 40))
	return all
}

// A key is found wherever it stands; what was struck stays as it is.
func TestShapes(t *testing.T) {
	f := fake{rand.New(rand.NewPCG(1, 2))}
	if n := len(f.keys()); n < 60 {
		t.Fatalf("%d shapes", n)
	}
	places := []string{
		"%s", "my key is %s, use it.", "(%s)", `"%s"`, "a line\n%s\r\nanother", "`%s`", `{"text":"%s\n"}`, "é%s…", "%s\\n",
	}
	for range 5 {
		for name, both := range f.keys() {
			around, key := cmp.Or(both[0], "%s"), both[1]
			for _, place := range places {
				text := fmt.Sprintf(place, fmt.Sprintf(around, key))
				got, found := striker.Strike(text)
				if strings.Contains(got, key) || len(found) != 1 || got != strings.Replace(text, key, found[0].Mark(), 1) {
					t.Errorf("%s: of %q is left %q", name, text, got)
				}
				if again, more := striker.Strike(got); again != got || len(more) > 0 || !shape.Marked(got) {
					t.Errorf("%s: struck again: %q", name, again)
				}
			}
		}
	}
}

// People let one secret stand, or all.
func TestAllowed(t *testing.T) {
	f := fake{rand.New(rand.NewPCG(7, 8))}
	one, other := "gh"+"p_"+f.of(alnum, 36), "gl"+"pat-"+f.of(alnum, 20)
	text := one + " and " + other + " and " + one
	key := func() []byte { return []byte("of this test") }
	struck, found := striker.Strike(text)
	if len(found) != 2 || strings.Count(struck, found[0].Mark()) != 2 || found[1].At != strings.Index(text, other) {
		t.Fatalf("%q, %v", struck, found)
	}
	allowing := shape.New(shape.Config{Allow: []string{found[0].ID}}, key)
	if got, _ := allowing.Strike(text); got != one+" and "+found[1].Mark()+" and "+one {
		t.Errorf("allowed: %q", got)
	}
	if got, found := shape.New(shape.Config{Keep: true}, key).Strike(text); got != text || found != nil {
		t.Errorf("kept: %q", got)
	}
	elsewhere := shape.New(shape.Config{}, func() []byte { return []byte("of another home") })
	if got, _ := elsewhere.Strike(text); got == struck {
		t.Error("two homes make the same marks")
	}
}

// However a text is cut into pieces, it is struck as a whole is.
func TestBegun(t *testing.T) {
	f := fake{rand.New(rand.NewPCG(9, 10))}
	whole := ""
	for _, both := range f.keys() {
		whole += "a line\n" + fmt.Sprintf(cmp.Or(both[0], "%s"), both[1]) + "\nprogress 1%\rprogress 2%\r"
	}
	want := shape.Text(whole)
	for _, size := range []int{1, 7, 64, 1000} {
		got, held := "", ""
		for rest := whole; rest != ""; {
			n := min(size, len(rest))
			held, rest = held+rest[:n], rest[n:]
			begun := shape.Begun(held)
			got, held = got+shape.Text(held[:begun]), held[begun:]
		}
		if got += shape.Text(held); got != want {
			t.Errorf("in pieces of %d: %q, want %q", size, got, want)
		}
	}
	long := strings.Repeat("x", 100_000)
	if shape.Begun(long) != len(long) || shape.Begun(long+" y") != len(long)+1 {
		t.Error("an endless line is held for good")
	}
}

// What is no secret stays: hashes, refs, UUIDs, paths, examples, and what a key is not complete in.
func TestNothingToStrike(t *testing.T) {
	f := fake{rand.New(rand.NewPCG(3, 4))}
	for range 2000 {
		text := strings.Join([]string{
			"hash=" + f.of(hexes, 64), "e12 hash=" + f.of(hexes, 12) + " the key of ada", f.of(hexes, 40), f.uuid(),
			"task " + f.of(hexes, 32), "sha256:" + f.of(hexes, 64), "h1:" + f.of(base64, 43) + "=", "token: " + f.uuid(),
			"key=" + f.of(hexes, 40), "/api/keys/" + f.of(hexes, 24), "size=12 root=" + f.of(base64, 43) + " sig=" + f.of(base64, 90),
			f.of(base64, 76), "http://127.0.0.1:8080/?id=" + f.of(hexes, 32), f.of(lower, 44), f.of(digits, 30),
		}, "\n")
		if got, found := striker.Strike(text); got != text || len(found) > 0 {
			t.Fatalf("%q became %q", text, got)
		}
	}
	for _, text := range []string{
		"", "sk-no-key-required-by-this-local-server-at-all", "[secret 3f9a: aws access token, 20 characters]",
		"AKI" + "AIOSFODNN7EXAMPLE", "https://user:password@example.com/a", "Authorization: Bearer $TOKEN_OF_THE_SERVICE_1",
		"AWS_SECRET_ACCESS_KEY=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "https://a.b/c?token=the-token-of-your-own-page",
		"-----BEGIN CERTIFICATE-----\n" + f.of(base64, 64) + "\n-----END CERTIFICATE-----",
	} {
		if got, _ := striker.Strike(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// Nothing is struck in sources: of Go but its private keys, and of this tree.
func TestSources(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 50 MB")
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen, std := 0, filepath.Join(strings.TrimSpace(string(goroot)), "src")
	for _, root := range []string{std, "../../.."} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if path == filepath.Join(std, "cmd") || filepath.Base(path) == "node_modules" || filepath.Base(path) == ".git" {
				return filepath.SkipDir // Go's commands are as much again; what was installed here is not ours
			}
			isRules := filepath.Base(path) == "rules.txt" // one rule is the beginning of each key of its kind
			if err != nil || !d.Type().IsRegular() || isRules {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			seen += len(data)
			_, found := striker.Strike(string(data))
			for _, f := range found {
				if !strings.HasPrefix(string(data)[f.At:], "-----BEGIN EC PRIVATE KEY-----") {
					t.Errorf("%s: %s at byte %d", path, f.Mark(), f.At)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 50<<20 {
		t.Errorf("only %d bytes", seen)
	}
}

func FuzzStrike(f *testing.F) {
	keys := fake{rand.New(rand.NewPCG(5, 6))}
	for _, both := range keys.keys() {
		f.Add(fmt.Sprintf(cmp.Or(both[0], "%s"), both[1]), "a [secret 3f9a: jwt, 9 characters]")
	}
	f.Fuzz(func(t *testing.T, text, more string) {
		text += more
		got, found := striker.Strike(text)
		var grown int
		for _, one := range found {
			end := one.At
			for range one.Runes {
				_, size := utf8.DecodeRuneInString(text[end:])
				end += size
			}
			secret := text[one.At:end]
			if strings.Contains(got, secret) {
				t.Errorf("%q still holds %q", got, secret)
			}
			grown += (len(one.Mark()) - len(secret)) * strings.Count(text, secret)
		}
		if len(found) == 0 && got != text || len(got) > len(text)+max(0, grown) {
			t.Errorf("%q became %q", text, got)
		}
		again, _ := striker.Strike(got)
		if again != got {
			t.Errorf("%q, struck again, became %q", got, again)
		}
	})
}
