package rehearsal

import (
	"reflect"
	"testing"
)

func TestParse(t *testing.T) {
	one := func(v verb, abc ...string) []intent {
		in := intent{verb: v}
		for i, into := range []*string{&in.a, &in.b, &in.c} {
			if i < len(abc) {
				*into = abc[i]
			}
		}
		return []intent{in}
	}
	then := func(first []intent, rest ...intent) []intent {
		for _, in := range rest {
			in.then = true
			first = append(first, in)
		}
		return first
	}
	for text, want := range map[string][]intent{
		"run ls -la":                                     one(runVerb, "ls -la"),
		"Please run `ls -la | wc`.":                      one(runVerb, "ls -la | wc"),
		"bash echo a; echo b":                            one(runVerb, "echo a; echo b"),
		"$ make test":                                    one(runVerb, "make test"),
		"execute `date`":                                 one(runVerb, "date"),
		"@lethe run date":                                one(runVerb, "date"),
		"lethe, run date please":                         one(runVerb, "date"),
		"hey @lethe, could you run date":                 one(runVerb, "date"),
		"run ```sh\necho 1\necho 2\n```":                 one(runVerb, "echo 1\necho 2"),
		"run echo \"a and then read b\"":                 one(runVerb, `echo "a and then read b"`),
		"run printf 'x, run y'":                          one(runVerb, "printf 'x, run y'"),
		"run echo don't":                                 one(runVerb, "echo don't"),
		"read notes.txt":                                 one(readVerb, "notes.txt"),
		"Read the file `a b.txt`.":                       one(readVerb, "a b.txt"),
		"show me src/main.go":                            one(readVerb, "src/main.go"),
		"cat /etc/hosts":                                 one(readVerb, "/etc/hosts"),
		"write hello world to a.txt":                     one(writeVerb, "a.txt", "hello world"),
		`write "to be or not to be" to "my file.txt"`:    one(writeVerb, "my file.txt", "to be or not to be"),
		"write a.txt: hello":                             one(writeVerb, "a.txt", "hello"),
		"create a file todo.md with buy milk":            one(writeVerb, "todo.md", "buy milk"),
		"create a new file called x/y.md containing `z`": one(writeVerb, "x/y.md", "z"),
		`replace "old text" with "new" in a.txt`:         one(replaceVerb, "old text", "new", "a.txt"),
		"replace red with dark blue in a.txt.":           one(replaceVerb, "red", "dark blue", "a.txt"),
		"list":                                           one(listVerb),
		"list files in src":                              one(listVerb, "src"),
		"ls":                                             one(listVerb),
		"say good morning in ops":                        one(sayVerb, "ops", "good morning"),
		`say "tea in ten" to #Dev`:                       one(sayVerb, "dev", "tea in ten"),
		"tell ops the build is green":                    one(sayVerb, "ops", "the build is green"),
		"tell room ops: hi":                              one(sayVerb, "ops", "hi"),
		"join ops":                                       one(joinVerb, "ops"),
		"leave the room #ops.":                           one(leaveVerb, "ops"),
		"uncompact 0123456789abcdef":                     one(uncompactVerb, "0123456789abcdef"),
		"open the ref ◰1hash=0123456789abcdef gist=x◰2":  one(uncompactVerb, "0123456789abcdef"),
		"compact":                                        one(compactVerb),
		"Compact now!":                                   one(compactVerb),
		"recall the blue door":                           one(recallVerb, "recall the blue door"),
		"what is my cat's name?":                         one(recallVerb, "what is my cat's name"),
		"what did I say about cats?":                     one(recallVerb, "what did I say about cats"),
		"Do you remember the port?":                      one(recallVerb, "Do you remember the port"),
		"where does ada live?":                           one(recallVerb, "where does ada live"),
		"tell me about the plan":                         one(recallVerb, "tell me about the plan"),
		"remember that tea is at four":                   one(rememberVerb, "tea is at four"),
		"Remember: run the tests, then read the log":     one(rememberVerb, "run the tests, then read the log"),
		"don't forget the milk":                          one(rememberVerb, "the milk"),
		"note that ada likes jazz":                       one(noteVerb, "ada likes jazz"),
		"write down the code 4711 in your memory":        one(noteVerb, "the code 4711"),
		"add eggs to your notes":                         one(noteVerb, "eggs"),
		"count to 30":                                    one(countVerb, "30"),
		"Count from 1 to 1,000":                          one(countVerb, "1,000"),
		"think hard about the sea":                       one(thinkVerb, "the sea"),
		"what is 12*7":                                   one(mathVerb, "12*7", "12*7 = 84"),
		"what's 3 plus 4?":                               one(mathVerb, "3 plus 4", "3 plus 4 = 7"),
		"calculate (2 + 3) * 4 / 8":                      one(mathVerb, "(2 + 3) * 4 / 8", "(2 + 3) * 4 / 8 = 2.5"),
		"7 x 6 =":                                        one(mathVerb, "7 x 6", "7 x 6 = 42"),
		"1/0":                                            one(mathVerb, "1/0", "Division by zero has no result."),
		"10/3":                                           one(mathVerb, "10/3", "10/3 = 3.333333…"),
		"repeat after me: hello there":                   one(echoVerb, "hello there"),
		"echo \"x y\"":                                   one(echoVerb, "x y"),
		"say cheese":                                     one(echoVerb, "cheese"),
		"help":                                           one(helpVerb),
		"Who are you?":                                   one(helpVerb),
		"are you an AI?":                                 one(helpVerb),
		"hello!":                                         one(greetVerb),
		"good morning everyone":                          one(greetVerb),
		"Thanks a lot!":                                  one(thanksVerb),
		"I like rainy days":                              one(chatVerb, "I like rainy days"),
		"how are you?":                                   one(chatVerb, "how are you?"),
		"2026-11-20 was fine":                            one(chatVerb, "2026-11-20 was fine"),
		"tell me a":                                      one(chatVerb, "tell me a"),
		"":                                               one(chatVerb, ""),
		"run a and then read b.txt":                      then(one(runVerb, "a"), intent{verb: readVerb, a: "b.txt"}),
		"run a, then run b, then list":                   then(one(runVerb, "a"), intent{verb: runVerb, a: "b"}, intent{verb: listVerb}),
		"run a and then what is 2+2":                     then(one(runVerb, "a"), intent{verb: mathVerb, a: "2+2", b: "2+2 = 4"}),
		"run a, run b":                                   append(one(runVerb, "a"), one(runVerb, "b")...),
		"read a.txt and read b.txt":                      append(one(readVerb, "a.txt"), one(readVerb, "b.txt")...),
		"write x to a.txt and then read a.txt":           then(one(writeVerb, "a.txt", "x"), intent{verb: readVerb, a: "a.txt"}),
		"write I run and read books to a.txt":            one(writeVerb, "a.txt", "I run and read books"),
		"run a\nread b.txt":                              {{verb: runVerb, a: "a", then: true}, {verb: readVerb, a: "b.txt", then: true}},
		"write two\nlines to a.txt":                      one(writeVerb, "a.txt", "two\nlines"),
	} {
		if got := parse(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q\n got %+v\nwant %+v", text, got, want)
		}
	}
}

func TestParseNeverPanics(t *testing.T) {
	for _, text := range []string{"\"", "'", "``` ```", "$ ", "run ", "“", "((((", "1+", "--", "write to", "@", "◆ e1", "\n\n"} {
		if got := parse(text); len(got) == 0 {
			t.Errorf("%q gave nothing", text)
		}
	}
}
