"""Runs the command under strace, and looks for secrets in everything that it, and what it starts, writes, sends and hands over.

    traced(["snapsync", "sync"], environment, Secrets(...))
"""
import base64, os, re, subprocess, zlib

CALL = re.compile(rb'^\d+ +(\w+)\((.*)$')
TEXT = re.compile(rb'"((?:\\x[0-9a-f]{2})*)"')
PATH = re.compile(rb'^\d+<([^>]*)>')


def inside(data):
    """The data, and what gzip members in it hold."""
    yield data
    for place in (m.start() for m in re.finditer(b"\x1f\x8b\x08", data)):
        try: yield zlib.decompressobj(31).decompress(data[place:])
        except zlib.error: pass


class Secrets:
    """Bytes that must not appear, in these and other forms: of keys anywhere but in key files, of rows anywhere but in databases."""

    def __init__(self, keys, rows):
        self.keys = [form for one in keys for form in (one, one.hex().encode(), base64.b64encode(one)[:len(one) * 4 // 3 - 2])]
        self.rows = rows

    def found(self, path, data):
        name = os.path.basename(path)
        is_database = re.search(r"\.db(-wal|-shm|-journal)?$", name) is not None
        needles = ([] if "/keys/snapsync/" in path else self.keys) + ([] if is_database else self.rows)
        return [needle for part in inside(data) for needle in needles if needle in part]


def traced(words, environment, secrets, stdin=b""):
    """What was found, as (path or call, secret); the run; and the paths that were written."""
    run = subprocess.run(
        ["strace", "-f", "-qq", "-y", "-xx", "-s", "2000000", "-e", "signal=none", "-e", "trace=write,pwrite64,writev,pwritev,sendto,sendmsg,execve", "-o", "trace"]
        + words, env=environment, input=stdin, capture_output=True)
    found, written = [], set()
    with open("trace", "rb") as lines:
        for line in lines:
            call = CALL.match(line)
            if not call: continue
            path = PATH.match(call.group(2))
            path = "execve" if call.group(1) == b"execve" else re.sub(rb"\\x([0-9a-f]{2})", lambda m: bytes([int(m.group(1), 16)]), path.group(1)).decode() if path else "?"
            data = b"\0".join(bytes.fromhex(text.replace(b"\\x", b"").decode()) for text in TEXT.findall(call.group(2)))
            written.add(path)
            found += [(path, needle) for needle in secrets.found(path, data)]
    os.remove("trace")
    return found, run, written
