#!/usr/bin/env python3
"""Flips bits in the files of a small sealed zone, and sees that no run takes what was altered.

usage: flip_sealed.py SNAPSYNC [--step N] [--seed N] [--jobs N]

The reader `phone` has version 2 of a sealed zone, and version 3 waits for it. For each bit of each file (with --step N, each N-th one, from which one on the seed says) the bit is
flipped on a fresh copy, and `sync` runs. It must end well with the rows of version 3, or with 65, 75 or 78 and no change in the database's rows. What
devices write anew, their reports, is left out.
"""
import argparse
import collections
import concurrent.futures
import os
import shutil
import sqlite3
import sys
import tempfile

from kill_sealed import SealedScene, joined


def rows(scene):
    connection = sqlite3.connect(scene.place("phone.db"))
    try:
        return connection.execute("SELECT * FROM tracks ORDER BY id").fetchall()
    finally:
        connection.close()


def flipped(scene, number, file, bit, before, after):
    """The exit code, and what is wrong, or None."""
    copy = scene.copy(os.path.join(os.path.dirname(scene.path), "copy-%d" % number))
    try:
        path = copy.place("cloud", file)
        with open(path, "r+b") as target:
            target.seek(bit // 8)
            byte = target.read(1)[0] ^ 1 << bit % 8
            target.seek(bit // 8)
            target.write(bytes([byte]))
        # A young file that cannot be read would count as one that is still arriving.
        os.utime(path, (os.path.getmtime(path) - 3600,) * 2)
        status, output, errors = copy.run("sync --db phone.db")
        found = rows(copy)
        right = found == after if status == 0 else status in (65, 75, 78) and found == before
        leaks = [text for text in ("canary", "secretcolumn") if text in output + errors]
        return status, None if right and not leaks else "%s, bit %d: ended with %d, %s%s" % (file, bit, status, errors.strip()[:200], leaks)
    finally:
        copy.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", help="the built snapsync")
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="snapsync-flips-", dir=memory)
    try:
        scene = SealedScene(os.path.join(folder, "scene"), os.path.abspath(arguments.command))
        os.mkdir(scene.path)
        joined(scene)
        before = rows(scene)
        scene.sql("desk.db", "UPDATE tracks SET secretcolumn = 'canary later' WHERE id = 7")
        scene.succeed("sync --db desk.db")
        after = [(key, "canary later" if key == 7 else text) for key, text in before]
        files = sorted(file for file in scene.files() if "/devices/" not in file)
        bits = [(file, bit) for file in files for bit in range(os.path.getsize(scene.place("cloud", file)) * 8)][arguments.seed % arguments.step::arguments.step]
        codes, wrong = collections.Counter(), []
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for status, problem in pool.map(lambda one: flipped(scene, one[0], one[1][0], one[1][1], before, after), enumerate(bits)):
                codes[status] += 1
                wrong += [problem] if problem else []
        print("%d files, %d flips; exit codes %s; %d problems" % (len(files), len(bits), dict(sorted(codes.items())), len(wrong)))
        for problem in wrong[:20]:
            print("  " + problem)
        sys.exit(0 if not wrong and len(codes) > 1 else 1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
