#!/usr/bin/env python3
"""score.py SCRIPT KEPT

Tells, from the requests and answers that a server has kept in KEPT, what a play has sent, and for each question
of SCRIPT the calls and the answer. KEPT stands beside the play's home, whose log tells which summaries were used.
Tokens are characters / 4; what a request begins with as the one before did counts as cached. Dollars are at DeepSeek's list price of deepseek-v4-pro."""
import json, pathlib, re, sys

HIT, MISS, OUT = 0.022, 0.66, 1.98  # USD per million tokens

script, kept = sys.argv[1], pathlib.Path(sys.argv[2])
questions, asked = [], False
for line in open(script, encoding="utf-8").read().splitlines():
    if line == "---":
        asked = True
    elif asked and re.match(r"[a-z]+: ", line):
        questions.append([line.split(": ", 1)[1], ""])
    elif asked and line.startswith("= "):
        questions[-1][1] = line[2:]

turns = []  # number, request, answer
for path in sorted(kept.glob("req-*.json")):
    number = path.name[4:-5]
    answer = kept / f"resp-{number}.json"
    if answer.exists():
        turns.append((int(number), json.loads(path.read_text()), json.loads(answer.read_text())))

if not turns:
    sys.exit(f"score.py: no answered request in {kept}; name the directory where the server keeps them")


def tokens(text):
    return len(text) / 4


def body(message):
    calls = message.get("tool_calls") or []
    return (message.get("content") or "") + (message.get("reasoning_content") or "") + "".join(
        c["function"]["name"] + c["function"]["arguments"] for c in calls)


def kind(request):
    task = re.search(r'<task name="(\w+)"', body(request["messages"][-1]))
    return task[1] if task else "turn"


parts, kinds, hints = {}, {}, {}
cached = missed = written = 0
before = ""
for number, request, answer in turns:
    kinds[kind(request)] = kinds.get(kind(request), 0) + 1
    tools = json.dumps(request.get("tools") or [])
    text = tools + "".join(m["role"] + body(m) for m in request["messages"])
    same = next((i for i, (a, b) in enumerate(zip(text, before)) if a != b), min(len(text), len(before)))
    cached, missed, before = cached + tokens(text[:same]), missed + tokens(text[same:]), text
    written += tokens(answer.get("text") or "") + tokens(answer.get("reasoning") or "") + sum(
        tokens(json.dumps(c)) for c in answer.get("calls") or [])
    parts["tools"] = parts.get("tools", 0) + tokens(tools)
    for message in request["messages"]:
        said = body(message)
        part = "system" if message["role"] == "system" else "past" if said.startswith("◆ past") else "live"
        parts[part] = parts.get(part, 0) + tokens(said)
        for entry, text in re.findall(r"◆ (e\d+) hint[^\n]*\n((?:(?!◆ ).*\n?)*)", said):
            hints.setdefault(entry, (number, text.strip()))

print(f"requests: {len(turns)}, {kinds}")
print(f"sent: {cached + missed:.0f} tokens, {cached:.0f} of them cached; written: {written:.0f}; "
      f"{(cached * HIT + missed * MISS + written * OUT) / 1e6:.4f} USD")
for part, n in parts.items():
    print(f"  {part:7} {n / len(turns):6.0f} tokens a request, {100 * n / (cached + missed):.1f} %")
life = "".join(log.read_text() for log in kept.parent.glob("home/agents/*/LIFE.md"))
gists = [re.search(r'"gist":\s*"((?:[^"\\]|\\.)*)', answer.get("text") or "")
         for _, request, answer in turns if kind(request) == "summarise"]
unused = [gist[1] for gist in gists if gist and gist[1][:60] not in life]
print(f"summaries: {len(gists)} asked, {len(unused)} not used (or not yet): {unused}")
for entry, (number, text) in hints.items():
    print(f"hint {entry}, first in request {number}:\n{text}")
for question, right in questions:
    calls, texts, numbers = [], [], []
    for number, request, answer in turns:
        inbound = [body(m) for m in request["messages"] if m["role"] == "user" and " inbound " in body(m)]
        if kind(request) == "turn" and inbound and question in inbound[-1]:
            numbers.append(number)
            calls += [f'{c["name"]} {json.dumps(c["arguments"], ensure_ascii=False)[:120]}' for c in answer.get("calls") or []]
            texts += [(answer.get("text") or "").strip()]
    print(f"\n{question}\n  right: {right}\n  requests: {numbers}\n  calls: {calls}\n  answer: {' / '.join(filter(None, texts))}")
