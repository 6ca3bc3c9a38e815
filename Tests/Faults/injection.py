"""Runs a command and kills it, or fails one of its system calls: `injector.c`, compiled once, and what its log says."""
import collections, os, re, signal, subprocess, tempfile

Call = collections.namedtuple("Call", "number thread kind name target identity done")
Run = collections.namedtuple("Run", "status output errors calls")

# Calls after which what lies on the disk, or in a bucket, differs. Opening makes a file only where SQLite or the lock keeps one beside a database.
CHANGING = {"write", "link", "rename", "unlink", "mkdir", "size", "mode", "send"}
MADE_BY_OPENING = re.compile(r"(-journal|-wal|-shm|\.snapsync-lock)$")


def is_changing(call):
    return call.kind in CHANGING or call.kind == "open" and bool(MADE_BY_OPENING.search(call.target))


class Injector:
    """The compiled injector. `folder` is where it and its logs are kept."""

    def __init__(self, folder):
        self.folder = folder
        self.program = os.path.join(folder, "injector")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "injector.c")
        subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", self.program, source], check=True)

    def run(self, words, root, options, environment, deadline=120):
        """Runs the words in `root`. Counting begins with the first look at the database that they name.

        Calls of the log that end with another end than the command's own would be a fault of the injector, and raise.
        """
        descriptor, log = tempfile.mkstemp(dir=self.folder)
        os.close(descriptor)
        try:
            database = next(word for word in words if word.endswith(".db"))
            line = [self.program, "-a", database, "-r", root] + [str(word) for word in options] + [log, "--"] + words
            done = subprocess.run(line, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=deadline)
            if done.returncode != 0:
                raise RuntimeError("the injector failed: " + done.stderr.decode())
            with open(log) as file:
                lines = file.read().splitlines()
        finally:
            os.unlink(log)
        how, number = lines.pop().split(" ")
        calls = [Call(int(f[0]), int(f[1]), *f[2:]) for f in (line.split("\t") for line in lines)]
        status = int(number) if how == "exit" else -int(number)
        return Run(status, done.stdout.decode(), done.stderr.decode(), calls)


WAS_KILLED = -int(signal.SIGKILL)
