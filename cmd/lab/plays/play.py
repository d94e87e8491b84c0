#!/usr/bin/env python3
"""play.py LETHE SCRIPT DIR BASE_URL LIMIT [MODEL]

Boots the identity "ada" in DIR/home and plays SCRIPT into the room "room": a line, and the next
one when the identity has answered. DIR/now tells how far it is. Before the questions it waits for
the file DIR/second, so that another reader can take over. README.md of cmd/lab says what for."""
import atexit, json, os, pathlib, signal, subprocess, sys, time

lethe, script, where, url, limit, model = (sys.argv[1:] + ["reader"])[:6]
where = pathlib.Path(where)
home = where / "home"
home.mkdir(parents=True, exist_ok=True)

files, commands, parts, name, day = {}, [], [[]], None, "2026-01-01"
for line in open(script, encoding="utf-8").read().splitlines():
    if name is not None:  # a file of the workspace, up to a line with a single dot
        if line == ".":
            name = None
        else:
            files[name] += line + "\n"
    elif line.startswith("file "):
        name = line[5:]
        files[name] = ""
    elif line.startswith("run "):
        commands.append(line[4:])
    elif line.startswith("on "):
        day = line[3:]
    elif line == "---":
        parts.append([])
    elif line and line[0] not in "#=":
        parts[-1].append((day, *line.split(": ", 1)))

(home / "config.toml").write_text(f'[context]\nlimit = {limit}\n[tools]\nbash = "trusted"\n')
daemon = subprocess.Popen(
    [lethe, "run", "--home", home, "--name", "ada", "--room", "room", "--base-url", url, "--model", model],
    env=dict(os.environ, LETHE_API_KEY="none"), stdout=open(where / "out", "w"), stderr=subprocess.STDOUT)
atexit.register(daemon.terminate)  # also when a command fails, or when it is killed itself
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
while not (found := list(home.glob("agents/*/status.json"))):
    time.sleep(0.2)
workspace = found[0].parent / "workspace"
for name, text in files.items():
    path = workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
for command in commands:
    subprocess.run(command, shell=True, cwd=workspace, check=True)


def resting():
    status = json.loads(found[0].read_text())
    heard = status.get("heard", {}).get("room", 0)
    return status["state"] == "idle" and not status.get("answering") and heard == (home / "chats/room.md").stat().st_size


for number, part in enumerate(parts):
    for i, (day, who, text) in enumerate(part):
        (where / "now").write_text(f"part {number + 1}, {i + 1} of {len(part)}: {text[:80]}\n")
        minute = 9 * 60 + 7 * i
        with open(home / "chats/room.md", "a", encoding="utf-8") as room:
            room.write(f"[USER:{who} {day}T{minute // 60:02d}:{minute % 60:02d}:00Z] {text}\n")
        time.sleep(1)
        while not resting():
            time.sleep(0.5)
    while json.loads(found[0].read_text()).get("compacting"):
        time.sleep(1)
    (where / "now").write_text("FIRST PART DONE\n" if number == 0 else "DONE\n")
    while number == 0 and not (where / "second").exists():
        time.sleep(1)
daemon.terminate()
daemon.wait()
