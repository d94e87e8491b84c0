"""What reader.py checks a life with: BLAKE3, the signature and tree of a seal, and the whole of it. For the
first two use a library where there is one."""
import base64, hashlib, re, struct

class Fault(Exception): """Where a life is damaged."""

# ---- BLAKE3, after its specification

IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
ORDER = [list(range(16))]
for _ in range(6): ORDER.append([ORDER[-1][i] for i in (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)])
MIX = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15), (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))
START, END, PARENT, ROOT, M = 1, 2, 4, 8, 0xFFFFFFFF

def compress(cv, block, chunk, flags):
    m, v = struct.unpack("<16I", block.ljust(64, b"\0")), [*cv, *IV[:4], chunk & M, chunk >> 32, len(block), flags]
    for order in ORDER:
        for i, (ai, bi, ci, di) in enumerate(MIX):
            a, b, c, d = v[ai], v[bi], v[ci], v[di]
            a = a + b + m[order[2 * i]] & M; d ^= a; d = (d >> 16 | d << 16) & M
            c = c + d & M; b ^= c; b = (b >> 12 | b << 20) & M
            a = a + b + m[order[2 * i + 1]] & M; d ^= a; d = (d >> 8 | d << 24) & M
            c = c + d & M; b ^= c; b = (b >> 7 | b << 25) & M
            v[ai], v[bi], v[ci], v[di] = a, b, c, d
    return [v[i] ^ v[i + 8] for i in range(8)]

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
    return (P - x if x & 1 != odd else x), y

def add(p, q):
    (a, b), (c, d) = p, q
    t = D * a * b * c * d
    return (a * d + b * c) * pow(1 + t, -1, P) % P, (b * d + a * c) * pow(1 - t, -1, P) % P

def multiply(n, p):
    out = (0, 1)
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
    return multiply(int.from_bytes(signature[32:], "little"), base) == add(r, multiply(h, a))

# ---- Checking all of a life

def node(left, right): return hashlib.sha256(b"\1" + left + right).digest()

def seal_holds(self, size, fields, subtrees):
    """Whether the line "sealed" states and signs the tree over the lines before it, whose whole subtrees these are."""
    root, value = (subtrees[-1][1] if subtrees else b""), lambda key: base64.b64decode(fields[key][0] + "==")
    for _, left in subtrees[-2::-1]: root = node(left, root)
    name, key, signature = f"lethe/{self}\n".encode(), value("key"), value("sig")
    note = name + f"{size}\n{base64.b64encode(root).decode()}\n".encode()
    return (int(fields["size"][0]), value("root"), key[:1], signature[:4]) == (size, root, b"\1", hashlib.sha256(name + key).digest()[:4]) and ed25519(key[1:], note, signature[4:])

def verify(life, parse):
    """Checks each line, seal and blob, and says how many there are."""
    self, subtrees, sealed, seals, refs, parents, owner, owners = "", [], 0, 0, {}, set(), "", []
    gone, stated, unsealed = {}, set(), set()  # what has to be stated by an "erased" line under a seal, what is, and what is without a seal
    for i in life.sound(0):
        leaf, (kind, _, fields, of) = hashlib.sha256(b"\0" + life.lines[i][:-1]).digest(), parse(life.lines[i])
        before, now = life.erased.get(life.offsets[i], ("", ""))
        if now == leaf.hex(): gone[f"{life.offsets[i]}:{before}:{now}"], leaf = f"LIFE.md line {i + 1}", bytes.fromhex(before)
        for ref in of: refs.setdefault(ref["short"], i)
        self = self or life.blob(of[0]["short"])[0]
        if kind == "epoch":
            for hash in re.findall(r'"hash": "([0-9a-f]{64})"', life.body(of[0]).decode()): refs.setdefault(hash, i)
        if kind == "erased": unsealed.update(fields.get("line", []) + fields.get("blob", []))
        if kind == "received": owners.append(fields["key"][0])
        if kind == "sealed":
            if owner and fields["key"][0] not in [owner] + owners: raise Fault(f"LIFE.md line {i + 1}: another home sealed it, and no line says that it received the life")
            owner, owners = fields["key"][0], []
            if not seal_holds(self, i, fields, subtrees): raise Fault(f"LIFE.md lines {sealed + 1} to {i}: the seal in line {i + 1} does not hold")
            sealed, seals, stated = i, seals + 1, stated | unsealed
        height = 0
        while subtrees and subtrees[-1][0] == height: height, leaf = height + 1, node(subtrees.pop()[1], leaf)
        subtrees.append((height, leaf))
    for digits, i in refs.items():
        try:
            while digits and digits not in parents:
                address, front, _ = life.blob(digits)
                parents.update((digits, address))
                digits = front.get("parent") if address != self else None
        except Fault as fault: raise Fault(f"LIFE.md line {i + 1}: {fault}")
    gone.update((f"{address}:{hash}", f"blob {address}") for address, hash in life.graves.items())
    for what, where in gone.items():
        if what not in stated: raise Fault(f"{where}: erased, and no sealed line says so")
    return f"{len(life.lines)} lines, {seals} seals over the first {sealed} (by {owner or 'nobody'}), {len({p for p in parents if len(p) == 64})} blobs: all is as it was written"
