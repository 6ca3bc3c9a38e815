#!/usr/bin/env python3
"""Flips bits in the files of a small sealed zone, one at a time, and sees that no run takes what was altered.

usage: flip_sealed.py SNAPSYNC [--step N] [--seed N] [--thorough] [--jobs N]

The zone has two rows, three versions, the reports of its two devices and a message. For each bit of each file (with --step N, each N-th one, from which one the
seed says) the bit is flipped on a fresh copy of all. These commands run, each on a copy of its own:

  new      sync, at a reader that was set up and has imported nothing
  reader   sync, at a reader that has version 2 and has sent the message
  desk     sync, at the writer, which takes the message
  check    check --all-versions, at the reader

The first that opens the file runs for each bit of it, the others that open it for one bit in 8 (with --thorough, for each), and those that do not open it, which its
bits cannot reach, for one in 64. A sync must end well with the rows that it brings when nothing is flipped, or with 65 or 78 and no change in the database's rows;
a flipped message may be left out. Check must end with 0, 65 or 78. The last table says for each file how often each command ended with which code.
"""
import argparse
import collections
import concurrent.futures
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from kill_sealed import INIT, JOIN, SealedScene

RUNS = {"new": "sync phone.db", "reader": "sync phone.db", "desk": "sync desk.db", "check": "check phone.db --all-versions"}


def rows(scene, database):
    connection = sqlite3.connect(scene.place(database))
    try:
        return connection.execute("SELECT * FROM tracks ORDER BY id").fetchall()
    finally:
        connection.close()


def opened(scene, line):
    """The files of the cloud that a run opens."""
    trace = scene.place("trace")
    words = ["strace", "-f", "-qq", "-yy", "-e", "signal=none", "-e", "trace=open,openat,openat2", "-o", trace, scene.command] + line.split()
    subprocess.run(words, cwd=scene.path, env=scene.environment, check=True, stdout=subprocess.DEVNULL)
    with open(trace) as lines:
        return {path for path in re.findall(r" = \d+<%s/([^>]*)>" % re.escape(scene.place("cloud")), lines.read())}


class Zone:
    """The zone as the reader finds it, and as the new reader does: the same files but for the reader's own report and message."""

    def __init__(self, folder, command):
        first = SealedScene(os.path.join(folder, "first"), command)
        os.mkdir(first.path)
        first.sql("desk.db", "CREATE TABLE tracks(id TEXT PRIMARY KEY, secretcolumn TEXT NOT NULL); INSERT INTO tracks VALUES('a', 'canary 1'), ('b', 'canary 2');")
        first.succeed(INIT + " --reader-edits all")
        first.succeed("sync desk.db")
        first.run(JOIN)
        first.succeed("zone approve desk.db phone --yes")
        first.succeed(JOIN)
        fresh = first.copy(os.path.join(folder, "fresh"))
        first.succeed("sync phone.db")
        sent = first.copy(os.path.join(folder, "sent"))
        sent.sql("phone.db", "UPDATE tracks SET secretcolumn = 'canary message' WHERE id = 'b'")
        sent.succeed("sync phone.db")
        # A publisher takes the messages that wait: this one comes after version 3.
        first.sql("desk.db", "UPDATE tracks SET secretcolumn = 'canary later' WHERE id = 'a'")
        first.succeed("sync desk.db")
        self.new, self.old = first.copy(os.path.join(folder, "new")), first.copy(os.path.join(folder, "old"))
        shutil.copyfile(fresh.place("phone.db"), self.new.place("phone.db"))
        shutil.rmtree(os.path.join(self.new.zone, "devices", "phone"))
        shutil.copyfile(sent.place("phone.db"), self.old.place("phone.db"))
        for kind in ("devices", "messages"):
            shutil.rmtree(os.path.join(self.old.zone, kind, "phone"), ignore_errors=True)
            shutil.copytree(os.path.join(sent.zone, kind, "phone"), os.path.join(self.old.zone, kind, "phone"))
        self.files = sorted(self.old.files())
        self.before, self.after, self.opened = {}, {}, {}
        for name, line in RUNS.items():
            copy = self.scene(name).copy(os.path.join(folder, "clean-" + name))
            self.before[name] = rows(copy, line.split()[1])
            self.opened[name] = opened(copy, line) & set(self.files)
            self.after[name] = [rows(copy, line.split()[1])]
            copy.remove()
        assert all(self.before[name] not in self.after[name] for name in RUNS if name != "check"), "a sync brings nothing"
        assert any("/messages/" in file for file in self.files), "no message waits"
        # The desk may leave out a message that is not what it was.
        self.after["desk"].append(self.before["desk"])

    def scene(self, name):
        return self.new if name == "new" else self.old


def flip(copy, file, bit):
    path = copy.place("cloud", file)
    with open(path, "r+b") as target:
        target.seek(bit // 8)
        byte = target.read(1)[0] ^ 1 << bit % 8
        target.seek(bit // 8)
        target.write(bytes([byte]))
    # A young file that cannot be read would count as one that is still arriving.
    os.utime(path, (os.path.getmtime(path) - 3600,) * 2)


def flipped(zone, folder, is_thorough, number, file, bit):
    """The exit codes by the runs' names, and what is wrong."""
    codes, wrong, is_tried = {}, [], False
    for name, line in RUNS.items():
        one_in = 64 if file not in zone.opened[name] else 8 if is_tried and not is_thorough else 1
        if (bit + bit // 8) % one_in or not os.path.exists(zone.scene(name).place("cloud", file)):
            continue
        is_tried = is_tried or file in zone.opened[name]
        copy, database = zone.scene(name).copy(os.path.join(folder, "copy-%d-%s" % (number, name))), line.split()[1]
        try:
            flip(copy, file, bit)
            code, output, errors = copy.run(line)
            found, codes[name] = rows(copy, database), code
            if not (found in zone.after[name] if code == 0 else code in (65, 78) and found == zone.before[name]):
                wrong.append("%s, bit %d: %s ended with %d, %s: %s" % (file, bit, name, code, "rows as before" if found == zone.before[name] else "other rows", errors.strip()[:200]))
            wrong += ["%s, bit %d: %s shows %s" % (file, bit, name, text) for text in ("canary", "secretcolumn") if text in output + errors]
        finally:
            copy.remove()
    return codes, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", help="the built snapsync")
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--thorough", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="snapsync-flips-", dir=memory)
    try:
        zone = Zone(folder, os.path.abspath(arguments.command))
        size = {file: os.path.getsize(zone.old.place("cloud", file)) for file in zone.files}
        bits = [(file, bit) for file in zone.files for bit in range(size[file] * 8)][arguments.seed % arguments.step::arguments.step]
        # A run that is ended early has tried bits of all files.
        random.Random(arguments.seed).shuffle(bits)
        codes, wrong, done = collections.defaultdict(collections.Counter), [], 0
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for (file, bit), (found, problems) in zip(bits, pool.map(lambda one: flipped(zone, folder, arguments.thorough, one[0], *one[1]), enumerate(bits))):
                for name, code in found.items():
                    codes[file, name][code] += 1
                wrong += problems
                done += 1
                if done % 2000 == 0 or problems:
                    print("%d of %d flips, %d runs, %d problems" % (done, len(bits), sum(sum(one.values()) for one in codes.values()), len(wrong)), *problems, file=sys.stderr, flush=True)
        print("%d files of %d bits, %d flips, %d runs, %d problems" % (
            len(size), sum(size.values()) * 8, done, sum(sum(one.values()) for one in codes.values()), len(wrong)))
        for (file, name), one in sorted(codes.items()):
            print("  %-75s %7d bits  %-6s %s" % (file, size[file] * 8, name, ", ".join("%d: %d" % pair for pair in sorted(one.items()))))
        for problem in wrong[:40]:
            print("  " + problem)
        # Where every flip does nothing, the flips did not reach what is read.
        sys.exit(0 if not wrong and {65} & set(code for one in codes.values() for code in one) else 1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
