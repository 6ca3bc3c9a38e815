"""Runs the command under strace, and looks for secrets in everything that it, and what it starts, writes, sends and hands over.

    traced(["snapsync", "sync"], environment, Secrets(...))
    look = Looked(SNAPSYNC, environment, Secrets(...)); look.run("sync app.db")
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


CODE = rb"(?:[a-z]{5}-){17}[a-z]{5}"


class Looked:
    """Runs of the command, each of which must write no secret, and what they wrote."""

    def __init__(self, command, environment, secrets):
        self.command, self.environment, self.secrets, self.written = command, environment, secrets, set()

    def run(self, line, status=0, stdin=b"", code=False, piped=()):
        """Runs a line (a tilde stands for a space in a word). `code`: whether it shows a recovery code; `piped`: secrets that a process may write into a pipe."""
        found, done, paths = traced([self.command] + [word.replace("~", " ") for word in line.split()], self.environment, self.secrets, stdin)
        found = [one for one in found if not (one[0].startswith("pipe:") and one[1] in piped)]
        assert done.returncode == status, (line, done.returncode, done.stderr)
        # What the person is told is looked through with the rest: it is written, too.
        assert not found, (line, found)
        assert code == bool(re.search(CODE, done.stdout + done.stderr)), line
        self.written |= paths
        return done.stdout

    def add(self, *keys): self.secrets.keys += Secrets(keys, []).keys


def shifted_clock(seconds):
    """A library to preload, with which a program's clock and the times of files, thus the store's clock, are ahead."""
    with open("clock.c", "w") as file:
        file.write("""#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static int shifted(int result, struct stat *status) {
    if (result == 0) { status->st_mtim.tv_sec += %(seconds)d; status->st_ctim.tv_sec += %(seconds)d; }
    return result;
}
int fstatat(int folder, const char *path, struct stat *status, int flags) { return shifted(syscall(SYS_newfstatat, folder, path, status, flags), status); }
int stat(const char *path, struct stat *status) { return fstatat(AT_FDCWD, path, status, 0); }
int lstat(const char *path, struct stat *status) { return fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW); }
int fstat(int file, struct stat *status) { return fstatat(file, "", status, AT_EMPTY_PATH); }
int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += %(seconds)d;
    return result;
}
""" % {"seconds": seconds})
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", "clock.so", "clock.c"], check=True)
    return os.path.abspath("clock.so")
