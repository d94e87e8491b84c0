"""What reader.py checks a life with: BLAKE3, the signature and tree of a seal, and the whole of it. For the
first two use a library where there is one."""
import base64, hashlib, os, re, struct

class Fault(Exception): """Where a life is damaged."""

# ---- BLAKE3, after its specification

IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
ORDER = [list(range(16))]
for _ in range(6): ORDER.append([ORDER[-1][i] for i in (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)])
START, END, PARENT, ROOT, M = 1, 2, 4, 8, 0xFFFFFFFF
LANES, ROWS = M | M << 64 | M << 128 | M << 192, (1 << 256) - 1

def row(a, b, c, d): return a | b << 64 | c << 128 | d << 192  # four words in one number, which are mixed at once

def compress(cv, block, chunk, flags):
    m = struct.unpack("<16I", block.ljust(64, b"\0"))
    a, b, c, d = row(*cv[:4]), row(*cv[4:]), row(*IV[:4]), row(chunk & M, chunk >> 32, len(block), flags)
    for order in ORDER:
        w = [m[i] for i in order]
        for i, left, right in ((0, 64, 192), (8, 192, 64)):  # columns, and diagonals
            for j, p, q in ((i, 16, 12), (i + 1, 8, 7)):
                a = a + b + (w[j] | w[j + 2] << 64 | w[j + 4] << 128 | w[j + 6] << 192) & LANES
                d = d ^ a; d = (d >> p | d << 32 - p) & LANES; c = c + d & LANES
                b = b ^ c; b = (b >> q | b << 32 - q) & LANES
            b, c, d = (b >> left | b << right) & ROWS, (c >> 128 | c << 128) & ROWS, (d >> right | d << left) & ROWS
    return [x >> 64 * i & M for x in (a ^ c, b ^ d) for i in range(4)]

def subtree(data, chunk, root):
    if len(data) > 1024:
        left = 1024
        while left * 2 < len(data): left *= 2
        words = subtree(data[:left], chunk, 0) + subtree(data[left:], chunk + left // 1024, 0)
        return compress(IV, struct.pack("<16I", *words), 0, PARENT | root)
    cv, last = IV, max(0, len(data) - 1) // 64
    for i in range(last + 1):
        cv = compress(cv, data[64 * i:64 * i + 64], chunk, (START if i == 0 else 0) | (END | root if i == last else 0))
    return cv

def blake3(data): return struct.pack("<8I", *subtree(data, 0, ROOT)).hex()

# ---- Ed25519 (RFC 8032), to check signatures of public things only: it takes its time, and not always the same

P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P

def point(data):
    y = int.from_bytes(data, "little")
    odd, y = y >> 255, y & 2**255 - 1
    xx = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(xx, (P + 3) // 8, P)
    if (x * x - xx) % P: x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - xx) % P: raise ValueError("not a point")
    x = P - x if x & 1 != odd else x
    return x, y, 1, x * y % P

def add(p, q):  # in extended coordinates: x/z, y/z, z, xy/z
    (a, b, z, t), (c, d, w, u) = p, q
    t, z, less, more = 2 * D * t * u, 2 * z * w, (b - a) * (d - c) % P, (b + a) * (d + c) % P
    a, b, c, d = more - less, more + less, (z - t) % P, (z + t) % P
    return a * c % P, b * d % P, c * d % P, a * b % P

def multiply(n, p):
    out = (0, 1, 1, 0)
    while n:
        if n & 1: out = add(out, p)
        n, p = n >> 1, add(p, p)
    return out

def ed25519(key, message, signature):
    """Whether the signature of the message is that of the public key."""
    base = point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
    try: r, a = point(signature[:32]), point(key)
    except ValueError: return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little")
    left, right = multiply(int.from_bytes(signature[32:], "little"), base), add(r, multiply(h, a))
    return all(left[i] * right[2] % P == right[i] * left[2] % P for i in (0, 1))

# ---- Checking all of a life

def torn(lines):
    """Whether these are what a crash left of the last append: life.md, "Torn ends"."""
    def part(line): return b"\0" in line or line[-1:] != b"\n"
    def whole(line): return re.search(rb"^\[[^]]*\] .* #[0-9a-f]{12}\n$", line.rpartition(b"\0")[2])
    if b"\0" not in lines[0]: return len(lines) == 1
    return all(re.search(rb" \+ #[0-9a-f]{12}\n$", line) or part(line) and not whole(line) for line in lines)

def node(left, right): return hashlib.sha256(b"\1" + left + right).digest()

def seal_holds(self, size, fields, subtrees):
    """Whether the line "sealed" states and signs the tree over the lines before it, whose whole subtrees these are."""
    root, value = (subtrees[-1][1] if subtrees else b""), lambda key: base64.b64decode(fields[key][0] + "==")
    for _, left in subtrees[-2::-1]: root = node(left, root)
    name, key, signature = f"lethe/{self}\n".encode(), value("key"), value("sig")
    note = name + f"{size}\n{base64.b64encode(root).decode()}\n{''.join('last=' + h + chr(10) for h in fields.get('last', []))}".encode()
    return (int(fields["size"][0]), value("root"), key[:1], signature[:4]) == (size, root, b"\1", hashlib.sha256(name + key).digest()[:4]) and ed25519(key[1:], note, signature[4:])

def verify(life, parse):
    """Checks each line, seal and blob, and says how many there are."""
    self, subtrees, sealed, seals, refs, found, up, owner, owners = "", [], 0, 0, {}, {}, {}, "", []
    i, gone, stated, unsealed = -1, {}, set(), set()  # what has to be stated by an "erased" line of a seal's append, what is, and what is without a seal
    newest, lasts, short, named = "", [], [], set()  # the last ref, what seals name, refs by the beginning of an address, and what snapshots name
    for i in life.sound(0):
        leaf, (kind, _, fields, of) = hashlib.sha256(b"\0" + life.lines[i][:-1]).digest(), parse(life.lines[i])
        before, now = life.erased.get(life.offsets[i], ("", ""))
        if now == leaf.hex(): gone[f"{life.offsets[i]}:{before}:{now}"], leaf = f"LIFE.md line {i + 1}", bytes.fromhex(before)
        if life.lines[i][-17:-15] != b" +": unsealed, owners = set(), []
        for ref in of: refs.setdefault(ref["short"], i)
        if of and kind != "fade": short, newest = short + [ref["short"] for ref in of], of[-1]["short"]
        self = self or life.blob(of[0]["short"])[0]
        if kind == "epoch":
            for hash in re.findall(r'"hash": "([0-9a-f]{64})"', life.body(of[0]).decode()): refs.setdefault(hash, i), named.add(hash)
        if kind == "erased": unsealed.update(fields.get("line", []) + fields.get("blob", []))
        if kind == "received": owners.append(fields["key"][0])
        if kind == "sealed":
            if owner and fields["key"][0] not in [owner] + owners: raise Fault(f"LIFE.md line {i + 1}: another home sealed it, and no line says that it received the life")
            owner, owners = fields["key"][0], []
            if not seal_holds(self, i, fields, subtrees): raise Fault(f"LIFE.md lines {sealed + 1} to {i}: the seal in line {i + 1} does not hold")
            sealed, seals, stated, lasts = i, seals + 1, stated | unsealed, lasts + fields.get("last", [])
        height = 0
        while subtrees and subtrees[-1][0] == height: height, leaf = height + 1, node(subtrees.pop()[1], leaf)
        subtrees.append((height, leaf))
    for digits, first in refs.items():
        try:
            while digits and digits not in found:
                address, front, _ = life.blob(digits)
                found[digits] = found[address] = address
                digits = up[address] = front.get("parent") if address != self else None
        except Fault as fault: raise Fault(f"LIFE.md line {first + 1}: {fault}")
    if self and os.path.exists(f"{life.dir}/SOUL.md"):
        with open(f"{life.dir}/SOUL.md", "rb") as f:
            if f.read() != life.blob(self)[2] and self not in life.graves: raise Fault("SOUL.md is not the soul that the identity was booted with")
    linked, address = set(), found.get(newest)
    while address and address not in linked: address, _ = up[address], linked.add(address)
    for digits in lasts and lasts + short:
        if found.get(digits) not in linked | named: raise Fault(f"blob {digits}: nothing that is sealed has its whole address")
    gone.update((f"{address}:{hash}", f"blob {address}") for address, hash in life.graves.items())
    for what, where in gone.items():
        if what not in stated: raise Fault(f"{where}: erased, and no sealed line says so")
    rest = "" if i + 1 == len(life.lines) else ", and behind them what a crash left of the last append"
    return f"{i + 1} lines{rest}, {seals} seals over the first {sealed} (by {owner or 'nobody'}), {len(up)} blobs: all is as it was written"
