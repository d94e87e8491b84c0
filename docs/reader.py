#!/usr/bin/env python3
"""Prints the body of a life's next request, or checks all of the life: python3 reader.py [--preset P] [--verify] HOME NAME...
The pages life.md, blobs.md, rooms.md, context.md and check.md say what this does. Python 3.9, no library. Exit code 6: the life is damaged."""
import argparse, datetime, glob, hashlib, json, math, os, re, sys, unicodedata
from reader_checks import Fault, blake3, torn, verify

# ---- Text. A byte that is no UTF-8 is a lone surrogate until clean() makes a run of them U+FFFD.

SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
MARKS = "◰◱◲◳◆"
def text(data): return data.decode("utf-8", "surrogateescape")
def encode(s): return s.encode("utf-8", "surrogateescape")
def clean(s): return re.sub("[\udc80-\udcff]+", "\ufffd", s)
def escape(s): return re.sub(f"[{MARKS}]", lambda m: f"◰{MARKS.index(m[0])}", clean(s))
def unescape(s): return re.sub("◰([0-4])", lambda m: MARKS[int(m[1])], s)
def outside(s): return escape(s.replace("\0", "\ufffd"))
def by_model(s): return outside(unescape(s))
def indent(s): return re.sub("\r\n|[\n\r\v\f\x85\u2029]", "\n    ", s)
def first(s, n): return re.sub("◰$", "", s[:n]) if n < len(s) else s
def show_ref(ref): return f"◱hash={ref['short']} gist={escape(ref['gist'])}◲"
TIME = re.compile("([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,][0-9]+)?(?:Z|([+-])([0-9]{2}):([0-9]{2}))")
def utc(stamp):
    """A time of RFC 3339 in UTC to the second; None where it is none."""
    m = TIME.fullmatch(stamp)
    if not m or int(m[8] or 0) > 24 or int(m[9] or 0) > 60: return None
    try: at = datetime.datetime(2000 + int(m[1]) % 400, *map(int, m.group(2, 3, 4, 5, 6)))  # the calendar repeats after 400 years
    except ValueError: return None
    at += datetime.timedelta(hours=int(m[8] or 0), minutes=int(m[9] or 0)) * (1 if m[7] == "-" else -1)
    return f"{at.year - 2000 - int(m[1]) % 400 + int(m[1]):04d}{at:-%m-%dT%H:%M:%SZ}"
def signs(c): return unicodedata.category(c)[0] in "LMNPS" and c not in "]\ufffd"  # may stand in the name of a tag
def room_line(raw):
    """The tag of a line of a room as a prompt shows it, and what is said."""
    line = re.fullmatch(rb"(?:\xef\xbb\xbf)?(.*?)\r?\n?", raw, re.S)[1]
    m = re.match(rb"\[(USER|AGENT):([^\] ]+) ([^\]]*)\] ?", line)
    name, at = (text(m[2]), utc(text(m[3]))) if m else ("", None)
    tag = at and len(m[2]) <= 64 and m.end(3) - m.start(2) < 105 and all(map(signs, name))
    said = clean(text(line[m.end():] if tag else line)).replace("\0", "\ufffd").replace("\u2028", "\n")
    return f"[{text(m[1])}:{escape(name)} {at}]" if tag else "[USER:unknown]", said
def heard(body, own):
    out, end = [], 0
    for raw in re.findall(rb"[^\n]*\n|[^\n]+", body):
        begin, end, (tag, said) = end, end + len(raw), room_line(raw)
        if said.strip(SPACE) and not any(f <= begin and end <= t for f, t in own): out.append(tag + " " + indent(outside(said)))
    return "\n".join(out)

def clip(s, e):
    """The text as its entry or call shows it."""
    show, ref = e.get("show") or 0, e.get("result") or e.get("ref")
    if show <= 0 or len(s) <= show: return s
    head, tail = first(s, show * 2 // 3), s[len(first(s, len(s) - (show - show * 2 // 3))):]
    at, size = head.rfind("\n"), len(encode(head))
    if at >= 0 and len(encode(head[:at])) > size * 3 // 4: head = head[:at]
    at, size = tail.find("\n"), len(encode(tail))
    if at >= 0 and len(encode(tail[:at])) < size // 4: tail = tail[at + 1:]
    end = len(s) - len(tail)
    gap = s[len(head):end]
    if not gap: return s
    def count(part):
        if s.startswith(("[USER:", "[AGENT:")): part = re.sub(r"\n(    |\[USER:unknown\] )", "\n", "\n" + part.rstrip(" "))[1:]
        return len(unescape(part))
    mark = f"{len(gap)} of {len(s)} characters are not shown here; all of them: "
    if e.get("places"):
        a, line = count(s[:len(head)]), 1 + s[:end].count("\n") - gap.lstrip("\n").count("\n")
        mark = f"characters {a} to {count(s[:end])} of {count(s)} (lines {line} to {line + gap.strip(chr(10)).count(chr(10))})"
        mark += f" are left out; UNCOMPACT with offset={a} shows them: "
    return f"{head}{'' if gap[0] == chr(10) else '…'}\n◳ {mark}{show_ref(ref)}\n{'' if gap[-1] == chr(10) else '…'}{tail}"

# ---- LIFE and blobs

ARG = re.compile(' (?:◱hash=([0-9a-f]{3,64}) gist=([^◱◲\n]*)◲|([^ ="]+)=("(?:[^"\\\\]|\\\\.)*"|[^ "]+)|([^ ="]+))')
def unquote(s):
    char = lambda m: chr(int(m[1][1:], 16)) if m[1][0] in "xuU" else dict(zip("abfnrtv", "\a\b\f\n\r\t\v")).get(m[1], m[1])
    return unescape(re.sub(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|.)", char, s[1:-1]) if s[0] == '"' else s)
def parse(line):
    """Kind, arguments, fields (each a list) and refs of a line with its checksum."""
    args, fields, refs = [], {}, []
    for short, gist, key, value, arg in ARG.findall(re.sub(r"( \+)? #[0-9a-f]{12}\n$", "", text(line))[29:]):
        if short: refs.append({"short": short, "gist": unescape(gist)})
        elif key: fields.setdefault(key, []).append(unquote(value))
        else: args.append(arg)
    return args[0], args[1:], fields, refs

class Life:
    def __init__(self, home, name):
        self.home, self.dir, self.graves = home, f"{home}/names/{name}", {}
        if not os.path.isdir(self.dir): self.dir = f"{home}/agents/{name}"
        with open(f"{self.dir}/LIFE.md", "rb") as f: self.lines = f.readlines()
        self.offsets, erased = [0], f"{self.dir}/LIFE.erased"
        for line in self.lines: self.offsets.append(self.offsets[-1] + len(line))
        with open(erased if os.path.exists(erased) else os.devnull) as f: self.erased = {int(o): (before, now) for o, before, now in map(str.split, f)}
        self.end = len(self.lines)
        begin = next((i for i in range(self.end - 1, -1, -1) if self.lines[i][-17:-15] != b" +" and self.fits(i)), 0)
        self.end = begin + len(list(self.sound(begin)))
        try:
            for ref in [ref for line in self.lines[begin:self.end] for ref in parse(line)[3]]: self.blob(ref["short"])
        except Fault: self.end = begin or self.end  # a text of the last append is torn
    def fits(self, i):
        line, before = self.lines[i], self.lines[i - 1][-13:-1] if i else b""
        fits = line[-15:] == b" #%b\n" % encode(blake3(before + line[:-15])[:12])
        return fits or self.erased.get(self.offsets[i], ("", ""))[1] == hashlib.sha256(b"\0" + line[:-1]).hexdigest()
    def sound(self, begin):
        """The numbers of the lines from one on whose checksums fit, up to a torn end."""
        for i in range(begin, self.end):
            if not self.fits(i):
                if torn(self.lines[i:]): return
                raise Fault(f"LIFE.md line {i + 1}: the checksum does not fit")
            yield i
    def blob(self, digits):
        """Address, frontmatter and body."""
        found = [p for p in glob.glob(f"{self.home}/blobs/{digits[:3]}/{digits[3:]}*") if re.fullmatch("[0-9a-f]{61}", os.path.basename(p))]
        if len(found) != 1: raise Fault(f"blob {digits} is not there" if not found else f"{len(found)} blobs begin with {digits}")
        address = digits[:3] + os.path.basename(found[0])
        with open(found[0], "rb") as f: file = f.read()
        front, _, body = file[4:].partition(b"\n---\n")
        front, hash = dict(line.partition(": ")[::2] for line in text(front).split("\n")), blake3(file)
        if hash != address and front.get("tombstone") != address: raise Fault(f"blob {address} has other bytes than its name says")
        if hash != address: self.graves[address] = hash
        return address, front, body
    def body(self, ref): return self.blob(ref.get("hash") or ref["short"])[2]

def reply(body):
    line, _, rest = body.partition(b"\n")
    head, out = json.loads(line), []
    def part(before, length, after):
        nonlocal rest
        if not length: return ""
        got, end = rest[len(before):len(before) + length], len(before) + length + len(after)
        if rest[:end] != before + got + after: raise Fault("a reply does not fit its first line")
        rest = rest[end:]
        return text(got)
    reasoning, said = part(b"<reasoning>\n", head["reasoning"], b"\n</reasoning>\n"), part(b"", head["text"], b"\n")
    opaque = lambda head: part(b"<opaque>\n", head.get("opaque"), b"\n</opaque>\n")
    whole = opaque(head)
    for c in head.get("calls", []):
        args = part(encode(f"<call {c['tool']}>\n"), c["args"], b"\n</call>\n")
        part(b"<original>\n", c.get("original"), b"\n</original>\n")
        out.append((c["tool"], args, opaque(c)))
    return reasoning, said, whole, out

# ---- From LIFE to the list of entries

def cite(label, about, said=""): return f"{label} {show_ref(about)}{said and ': ' + indent(outside(said))}\n" if about else ""

def fill(life, e):
    """Reads the texts of an entry."""
    body = life.body(e["ref"])
    if e["kind"] == "reply":
        e["reasoning"], e["text"], e["opaque"], calls = reply(body)
        e["reasoning"], e["text"], e["calls"] = by_model(e["reasoning"]), by_model(e["text"]), e.get("calls") or [{} for _ in calls]
        for c, (tool, args, opaque) in zip(e["calls"], calls):
            c.update(tool=tool, args=by_model(args), opaque=opaque)
            if c.get("status"): fill_result(life, c)
        if e.get("view"): e["reasoning"], e["text"] = reply(life.body(e["view"]))[:2]
    elif e.get("view"): e["text"] = text(life.body(e["view"]))
    elif e["kind"] == "inbound": e["text"] = cite("answer to", e.get("about"), e.get("said", "")) + clip(heard(body, [(o["from"], o["to"]) for o in e.get("own", [])]), e)
    else: e["text"] = cite("outcome of", e.get("about"), e.get("said", "")) + clip(outside(text(body)), e)
def fill_result(life, c):
    label = "asked" if c["status"] == "ok" else "not run, asked"
    c["text"] = text(life.body(c["view"])) if c.get("view") else cite(label, c.get("about")) + clip(outside(text(life.body(c["result"]))), c)
def images(e):
    """The texts of the pictures of an entry or a result, which a person has not edited."""
    return "" if e.get("view") else "".join("\n[image hash={:.16} {}]".format(*i.split(":")) for i in e.get("images") or [])
def exact(tool, args): return tool and blake3(encode(f"{tool}\0{args}"))[:32]

def fold(life):
    newest = max((i for i, line in enumerate(life.lines[:life.end]) if line[30:36] == b"epoch "), default=None)
    if newest is None: raise Fault("LIFE.md has no epoch: nothing was lived yet")
    state = json.loads(text(life.body(parse(life.lines[newest])[3][0])))
    for key in ("live", "questions", "approved"): state[key] = state.get(key) or []
    for e in state["live"]:
        e["kind"] = e["kind"].replace("joined", "note")
        fill(life, e)
    for i in life.sound(newest): apply(life, state, *parse(life.lines[i]))
    return state
def apply(life, state, kind, args, fields, refs):
    get, questions, approved = lambda key: fields.get(key, [""])[0], state["questions"], state["approved"]
    shown = {"show": int(get("show") or 0), "places": get("mark") == "places"} if kind in ("note", "inbound", "result") else {}
    if kind in ("inbound", "result"): shown["images"] = fields.get("image", [])
    if kind in ("joined", "note", "hint", "inbound", "reply"):
        e = {"n": int(args[0][1:]), "kind": kind.replace("joined", "note"), "ref": refs[0], "room": get("room"), **shown}
        e["own"] = [dict(zip(("from", "to"), map(int, o.split("..")))) for o in fields.get("own", [])]
        if get("answers"):
            q = questions.pop([q["id"] for q in questions].index(get("answers")))
            e.update(about=q["ref"], said=get("choice"))
            if q.get("tool") and get("choice") in ("once", "always"): approved.append(q)
        if get("run"): e.update(about=approved.pop(0)["ref"], said=get("status"))
        fill(life, e)
        state["live"].append(e)
        if kind == "reply" and int(get("in") or 0): state["usage"].update(last_weight=int(get("weight")), last_input=int(get("in")))
    elif kind == "result":
        n, k = map(int, args[0][1:].split("."))
        c = next(e for e in state["live"] if e["n"] == n)["calls"][k - 1]
        same = questions and get("status") == "not-started" and exact(c["tool"], unescape(c["args"]))
        about = next((q["ref"] for q in questions if q["call"] == args[0] or same and same == q.get("exact")), None)
        c.update(status=get("status"), result=refs[0], about=about, **shown)
        fill_result(life, c)
        state["questions"] = [q for q in questions if q["id"] != get("withdrawn")]
    elif kind == "asked":
        address, _, body = life.blob(refs[0]["short"])
        ask, taken = json.loads(text(body)), [q["id"] for q in questions + approved]
        id = next(i for i in ("q" + address[n:n + 6] for n in range(0, 60, 6)) if i not in taken)
        questions.append({"id": id, "ref": refs[0], "call": get("call"), "tool": ask.get("tool"), "exact": exact(ask.get("tool"), ask.get("args", ""))})
    elif kind == "run": approved[0]["began"] = True
    elif kind == "command" and get("name") == "/stop": state["approved"] = [q for q in approved if q.get("began")]
    elif kind == "fired" and not get("again"): state["questions"] = [q for q in questions if "wait-" + q["id"] != get("by")]
    elif kind == "error" and get("window"): state["window"] = int(get("window"))

# ---- From the entries to the body of a request. The table is that of context.md, "Presets"; P and A are "calls" and "all"

PRESETS = {row.split()[0]: row.replace("-", "").split(" ")[1:] for row in """\
deepseek api.deepseek.com max_tokens user_id object max reasoning_content calls no
openai api.openai.com max_completion_tokens prompt_cache_key effort high - - no
anthropic api.anthropic.com - - - max - - no
gemini generativelanguage.googleapis.com max_tokens - effort high - - no
openrouter openrouter.ai max_tokens user reasoning xhigh reasoning calls no
xai api.x.ai max_completion_tokens user level high - - no
moonshot api.moonshot.ai max_tokens prompt_cache_key type high reasoning_content calls no
zhipu api.z.ai max_tokens user_id object max reasoning_content - no
dashscope dashscope-intl.aliyuncs.com max_tokens - enable_thinking high - - no
minimax api.minimax.io max_tokens - reasoning_split high reasoning_content - no
siliconflow api.siliconflow.com max_tokens - - - reasoning_content - no
ollama 127.0.0.1:11434 - - think high thinking - no
groq api.groq.com max_completion_tokens user level high - - no
mistral api.mistral.ai max_tokens - - - - - yes
together api.together.xyz max_tokens - reasoning high - - no
vllm 127.0.0.1:8000 max_tokens - template high reasoning - yes
llamacpp 127.0.0.1:8080 max_tokens - template high reasoning_content - yes
lmstudio 127.0.0.1:1234 max_tokens - - - - - yes
custom - max_tokens - - - reasoning_content all yes""".split("\n")}

def compact(raw): return re.sub(r'("(?:[^"\\]|\\.)*")|\s+', lambda m: m[1] or "", raw)
def is_json(raw):
    try: json.loads(raw, parse_constant=float)
    except ValueError: return False
    return True

def messages(state, notes, add):
    since = state["stable"].get("since", 0) if state["stable"]["params"].get("order") != "tail" else math.inf
    add("system", state["stable"]["system"])
    if state["stable"]["past"]: add("user", state["stable"]["past"])
    sees = state["stable"]["params"].get("sees")
    for e in state["live"]:
        if e["kind"] != "reply":
            said = e["text"]
            if state["stable"].get("indented") and e["kind"] == "note": said = indent(said.replace("\u2028", "\n")).replace("\n    ◳ ", "\n◳ ")
            add("user", f"◆ e{e['n']} {e['kind']}{' room=' + e['room'] if e['kind'] == 'inbound' else ''}\n{said}{images(e)}", remark=e["kind"] != "inbound", shows=sees and images(e))
            continue
        if not all(c.get("status") for c in e["calls"]): break
        back = lambda of: of.get("opaque", "") if e["n"] >= since else ""
        calls = [(f"e{e['n']}_{k}", {**c, "opaque": back(c)}) for k, c in enumerate(e["calls"], 1)]
        add("assistant", e["text"] if e["text"].strip(SPACE) else "" if calls else "(no answer)", e["reasoning"], calls, opaque=back(e))
        for id, c in calls: add("tool", (c["text"] if c["text"].strip(SPACE) else "(no output)") + ("" if sees else images(c)), id=id, ends=(c["tool"], c["status"]) == ("WAIT", "ok"))
        if sees and any(images(c) for _, c in calls): add("user", "".join(images(c) for _, c in calls), remark=True, shows=True)
    if notes: add("user", notes, remark=True)

def join(keys): return "{" + ",".join(f"{dump(k)}:{v}" for k, v in sorted(keys.items())) + "}"
def anthropic(state, notes):
    """The body in Anthropic's dialect. Blocks are lists of keys with JSON, or that of thinking as it came."""
    params, system, turns, replies, ids = state["stable"]["params"], [], [], [], {}
    def say(said): return [{"type": '"text"', "text": dump(said)}] if said.strip(SPACE) else []
    def blocks(said, calls, opaque):
        out, calls, at = [], [{"type": '"tool_use"', "id": dump(i), "name": dump(c["tool"]), "input": compact(c["args"] or "{}")} for i, c in calls], 1
        while opaque[:1] == "[" and is_json(opaque) and compact(opaque) != "[]" and at < len(opaque):
            at = re.compile(r"[\s,\]]*").match(opaque, at).end()
            if at == len(opaque): break
            kept, end = json.JSONDecoder().raw_decode(opaque, at)
            raw, at, kind = compact(opaque[at:end]), end, kept.get("type") if isinstance(kept, dict) else ""
            if kind == "text": out, said = out + say(said[:kept.get("runes", 0)]), said[kept.get("runes", 0):]
            elif kind == "tool_use":
                for c in calls[:1]: ids[c["id"]] = c["id"] = dump(kept.get("id") or json.loads(c["id"]))
                out, calls = out + calls[:1], calls[1:]
            else: out.append(raw)
        return out + say(said) + calls or say("(no text)")
    def add(role, content, reasoning="", calls=(), id="", remark=False, ends=False, shows=False, opaque=""):
        if role == "system": return system.extend(say(content))
        if role == "assistant":
            replies.append((calls, opaque))
            if not turns or turns[-1][0] == "assistant": turns.append(("user", say("(continue)")))
            return turns.append(("assistant", blocks(content, calls, opaque)))
        new = say(content)
        if id: new = [{"type": '"tool_result"', "tool_use_id": ids.get(dump(id), dump(id)), **({"content": "[" + ",".join(map(join, new)) + "]"} if new else {})}]
        if turns and turns[-1][0] == "user": turns[-1][1].extend(new)
        else: turns.append(("user", new))
    messages(state, notes, add)
    users = [t for i, (role, t) in enumerate(turns) if role == "user" and i > 0][-2:]
    marked = [system[-1:], turns[0][1][:1]] + [([b for b in t if "tool_use_id" in b] or t)[-1:] for t in users]
    for block in marked: block and block[0].update(cache_control='{"type":"ephemeral"}')
    text_of = lambda list: "[" + ",".join(b if isinstance(b, str) else join(b) for b in list) + "]"
    effort, thinking, most = params.get("effort", ""), params.get("thinking", ""), params.get("max_tokens") or 4096
    body = {"model": dump(params["model"]), "stream": "true", "max_tokens": dump(most), "metadata": join({"user_id": dump(state["self"][:32])})}
    body["messages"] = "[" + ",".join(f'{{"role":{dump(role)},"content":{text_of(list)}}}' for role, list in turns) + "]"
    if system: body["system"] = text_of(system)
    tools = [t["function"] for t in json.loads(state["stable"].get("tools") or "[]")]
    raw = lambda t: compact(json.dumps(t.get("parameters"), ensure_ascii=False))
    if tools: body["tools"] = "[" + ",".join(join({"name": dump(t.get("name", "")), "description": dump(t.get("description", "")), "input_schema": raw(t)}) for t in tools) + "]"
    if effort and thinking != "disabled": body["output_config"] = join({"effort": dump(effort)})
    last = len(replies) - next((i for i, (calls, _) in enumerate(reversed(replies)) if not calls), len(replies))
    budget = re.match(r"claude-(3|[a-z]+-4(-[0-5])?(-\d{8})?$)", params["model"])
    if thinking == "disabled": body["thinking"] = '{"type":"disabled"}'
    elif thinking and not budget: body["thinking"] = '{"display":"summarized","type":"adaptive"}'
    elif thinking and most // 2 >= 1024 and all(opaque for _, opaque in replies[last:]): body["thinking"] = join({"type": '"enabled"', "budget_tokens": dump(most // 2)})
    return join(body)

def request(state, notes, preset):
    if preset == "anthropic": return anthropic(state, notes)
    _, tokens, user, style, most, key, stands, turns = PRESETS[preset]
    out, params, ended, names = [], state["stable"]["params"], False, {}
    def call_id(id):
        n, digits = int(hashlib.sha256(encode(id)).hexdigest(), 16), ""
        while n: n, digits = n // 36, "0123456789abcdefghijklmnopqrstuvwxyz"[n % 36] + digits
        return digits[:9] if preset == "mistral" else id
    def add(role, content, reasoning="", calls=(), id="", remark=False, ends=False, shows=False, opaque=""):
        nonlocal ended
        last = out[-1]["role"] if out and turns == "yes" else ""
        if role == "user" and (last == "user" or last == "tool" and not shows and (remark or ended)):
            out[-1]["content"] += "\n\n" + content
            return
        if (last, role) == ("tool", "user"): add("assistant", "(not finished yet)")
        if role == "assistant" and last in ("assistant", "system"): add("user", "(continue)")
        out.append({"role": role, "content": content})
        ended = ends
        if role == "assistant" and (stands and calls or stands == "all" and not state["stable"].get("spare")): reasoning = reasoning or "(no reasoning recorded)"
        if preset == "openrouter" and is_json(opaque): out[-1]["reasoning_details"] = Raw(opaque)
        elif reasoning and key: out[-1][key] = reasoning
        if calls: out[-1]["tool_calls"] = [{"id": call_id(i), "type": "function", "function": {"name": c["tool"], "arguments": c["args"] or "{}"}} for i, c in calls]
        for call in out[-1].get("tool_calls", []) if preset == "ollama" else []:
            names[call["id"]], args = call["function"]["name"], call["function"]["arguments"]
            call["function"]["arguments"] = Raw(args if is_json(args) and args.strip()[:1] == "{" else "{}")
        for k, (_, c) in enumerate(calls if preset == "gemini" else []):
            signature = c["opaque"] if is_json(c["opaque"]) else "" if k else '{"google":{"thought_signature":"skip_thought_signature_validator"}}'
            if signature: out[-1]["tool_calls"][k]["extra_content"] = Raw(signature)
        if id: out[-1]["tool_call_id"] = call_id(id)
        if id in names: out[-1]["tool_name"] = names[id]
    messages(state, notes, add)
    body = {"model": params["model"], "stream": True, "messages": out, "stream_options": {"include_usage": True}, tokens: params.get("max_tokens"), user: state["self"][:32]}
    thinking, effort = params.get("thinking", ""), params.get("effort", "")
    effort = "" if thinking == "disabled" else most if effort == "max" else effort
    if style == "think":
        options = {"num_predict": params["max_tokens"]} if params.get("max_tokens") else Raw("{}")
        body.update(options=options, stream_options="", truncate=False, shift=False, think=False if thinking == "disabled" else effort)
    if style == "object": body.update(thinking=thinking and {"type": thinking}, reasoning_effort=effort)
    if style == "type": body["thinking"] = thinking and {"type": thinking}
    if style in ("enable_thinking", "reasoning_split") and thinking: body[style] = thinking != "disabled"
    if style in ("effort", "level"): body["reasoning_effort"] = "none" if (style, thinking) == ("effort", "disabled") else effort
    nested = {"reasoning": ("reasoning", "enabled", "effort"), "template": ("chat_template_kwargs", "enable_thinking", "reasoning_effort")}.get(style)
    if nested: body[nested[0]] = {k: v for k, v in sorted({nested[1]: thinking and thinking != "disabled", nested[2]: effort}.items()) if v != ""}
    tools = compact(state["stable"].get("tools", ""))
    tools = "" if tools == "[]" else tools
    keys = sorted([k for k in body if k and (body[k] or body[k] is False) and (preset, k) != ("mistral", "stream_options")] + ["tools"] * (tools != ""))
    return "{" + ",".join(dump(k) + ":" + (tools if k == "tools" else dump(body[k])) for k in keys) + "}"
class Raw(str): """JSON that stands in a body as it is."""
def dump(value):
    if isinstance(value, Raw): return compact(value)
    if isinstance(value, list): return "[" + ",".join(map(dump, value)) + "]"
    if isinstance(value, dict): return "{" + ",".join(f"{dump(k)}:{dump(v)}" for k, v in value.items()) + "}"
    s = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[\u2028\u2029\udc80-\udcff]", lambda m: {"\u2028": "\\u2028", "\u2029": "\\u2029"}.get(m[0], "\\ufffd"), s)
def setting(home, section, key, default):
    """A number or text of config.toml."""
    with open(f"{home}/config.toml" if os.path.exists(f"{home}/config.toml") else os.devnull, encoding="utf-8") as f:
        m = re.search(rf'(?ms)^\[{section}\][^\[]*?^{key}\s*=\s*"?([^"#\n]*)', f.read())
    return m[1].strip() if m else default
def weight(s):
    twos, threes = (len(re.findall(f"[{of}]", s)) for of in ("\x80-\u052f\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef", "\x80-\uffff"))
    return len(s) + 2 * threes - twos + 5 * len(re.findall("[\U00010000-\U0010ffff]", s))
def notes_at_end(life, state):
    """MEMORY and the newest lines of LIFE, each within its share of what is free."""
    stable, usage, limit = state["stable"], state["usage"], int(setting(life.home, "context", "limit", 100000))
    ratio = min(max(usage["last_weight"] / usage["last_input"], 1), 12) if usage["last_input"] >= 200 and usage["last_weight"] else 3.3
    fixed = math.ceil((14 + weight(stable["system"]) + weight(stable.get("tools", ""))) / ratio)
    free = max(0, min(limit, state.get("window") or limit) - fixed - stable["params"]["max_tokens"])
    chars = int(free * ratio)
    while math.ceil(chars / ratio) > free: chars -= 1
    memory, most, path = "", 0, life.dir + "/MEMORY.md"
    if os.path.isfile(path):
        with open(path, "rb") as f: memory = text(f.read())
    if weight(memory) > chars // 5:
        while weight(memory[:most + 1]) <= chars // 5: most += 1
        memory = f"{memory[:most]}\n({len(memory) - most} more characters are in self/MEMORY.md)"
    memory = memory.strip(SPACE)
    shown, n = first(memory, 4000), int(setting(life.home, "life", "lines", 0))
    more = f"\n({len(memory) - len(shown)} more characters are in self/MEMORY.md)" if len(memory) > 4000 else ""
    lines = [text(line[:-1]) for line in life.lines[:life.end][-n:]] if n else []
    while sum(weight(line) + 1 for line in lines) > min(6000, chars // 10): lines.pop(0)
    return "◆ memory\n" + (outside(shown) + more or "(empty)") + ("\n◆ life\n" + "\n".join(lines) if lines else "")

def next_request(life, preset):
    state = fold(life)
    params = state["stable"]["params"]
    host = params.get("endpoint", "").replace("offline", "api.deepseek.com")
    own, name, at = re.fullmatch(f"(?:({'|'.join(PRESETS)}):)?(.*?)(?:@(low|high|max))?", params["model"], re.S).groups()
    params.update(model=name, effort=at or params.get("effort", ""))
    preset = own or preset or setting(life.home, "model", "preset", "") or next((p for p in PRESETS if PRESETS[p][0] == host), "custom")
    return request(state, notes_at_end(life, state) if params.get("order") == "tail" else "", preset)

def main():
    p = argparse.ArgumentParser(description="print the next requests of lives, or check them")
    for name, more in (("--preset", {"choices": PRESETS}), ("--verify", {"action": "store_true"}), ("home", {}), ("name", {"nargs": "+"})): p.add_argument(name, **more)
    a = p.parse_args()
    for name in a.name:
        try: out = verify(Life(a.home, name), parse) if a.verify else next_request(Life(a.home, name), a.preset)
        except OSError as e: sys.exit(f"{name}: {e}")
        except (Fault, ValueError, LookupError, TypeError) as e: sys.exit(print(f"{name}: {e}", file=sys.stderr) or 6)
        sys.stdout.buffer.write(encode(f"{name}: {out}\n" if a.verify else out + "\n"))

if __name__ == "__main__": main()
