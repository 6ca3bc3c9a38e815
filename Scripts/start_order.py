#!/usr/bin/env python3
"""Writes which functions the small runs of the command use, so that the linker places them together.

    Scripts/start_order.py SNAPSYNC ORDER        runs SNAPSYNC (not stripped) under valgrind, and writes the names into ORDER

A run with little to do spends a third of its time on page faults. Its functions lie all over 30 MB of code; together, they are some 130 page faults
of 1,020 less, and a tenth of the time of a sync with nothing new. A name that is not in the program any more does no harm: the linker passes over
it. So the file needs writing again when much has changed; this program says how many of the names before were still there.
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROWS = 20_000


class Scene:
    """A writer, a reader and two peers, with the runs that a schedule makes."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        # In how many runs each function ran.
        self.names = collections.Counter()

    def run(self, *arguments):
        subprocess.run([self.program, *map(str, arguments)], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)

    def watched(self, *arguments):
        """Runs the program under valgrind, and takes the names of the functions that ran."""
        output = os.path.join(self.folder, "callgrind.out")
        subprocess.run(
            ["valgrind", "--log-file=" + output + ".log", "--tool=callgrind", "--demangle=no", "--callgrind-out-file=" + output, self.program,
             *map(str, arguments)], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        with open(output) as file:
            self.names.update({found[1] for line in file if (found := re.match(r"c?fn=\(\d+\) (\S+?)('\d+)?$", line))})

    def database(self, name, cloud, role, rows=None):
        if rows:
            self.run("generate", "--db", name, "--notifications", rows, "--buckets", 20, "--seed", 1)
            subprocess.run(["sqlite3", name, "PRAGMA journal_mode=WAL"], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        self.run("init", "--db", name, "--cloud", cloud, "--role", role, "--device", name, *([] if rows else ["--create"]))

    def play(self):
        self.watched("--version")
        for rows in (150, ROWS):
            writer, reader, cloud = f"writer-{rows}.db", f"reader-{rows}.db", f"cloud-{rows}"
            self.database(writer, cloud, "writer", rows)
            self.watched("export", "--db", writer)
            self.database(reader, cloud, "reader")
            self.watched("import", "--db", reader)
            for seed in (2, 3):
                self.run("generate", "--db", writer, "--mark-read", 100, "--seed", seed)
                self.watched("export", "--db", writer)
                self.watched("import", "--db", reader)
            self.watched("sync", "--db", writer)
            self.watched("sync", "--db", reader)
        self.database("desk.db", "peers", "peer", 150)
        self.watched("sync", "--db", "desk.db")
        self.database("lap.db", "peers", "peer")
        self.watched("sync", "--db", "lap.db")
        self.run("generate", "--db", "lap.db", "--mark-read", 10, "--seed", 2)
        for name in ("lap.db", "desk.db", "desk.db", "lap.db"):
            self.watched("sync", "--db", name)


def functions(program):
    """The names of the functions in the program."""
    lines = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout.splitlines()
    return {fields[2] for fields in map(str.split, lines) if len(fields) == 3 and fields[1] in "tTwW"}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, order = map(os.path.abspath, sys.argv[1:])
    for tool in ("valgrind", "nm", "strip", "sqlite3"):
        if not shutil.which(tool):
            sys.exit(f"{tool} is missing: apt-get install valgrind binutils sqlite3")
    known = functions(program)
    if not known:
        sys.exit(f"{program} has no names of functions: it is stripped")
    if os.path.exists(order):
        with open(order) as file:
            before = file.read().split()
        print(f"{sum(name in known for name in before):,} of {len(before):,} names in {os.path.basename(order)} are in the program")
    with tempfile.TemporaryDirectory() as folder:
        # Without the tables for debuggers, which valgrind does not get through.
        copy = os.path.join(folder, "snapsync")
        subprocess.run(["strip", "-g", "-o", copy, program], check=True)
        scene = Scene(copy, folder)
        scene.play()
    # Those that every run uses come first, and need the fewest pages.
    names = sorted(known & scene.names.keys(), key=lambda name: (-scene.names[name], name))
    with open(order, "w") as file:
        file.writelines(name + "\n" for name in names)
    print(f"{len(names):,} functions run in a small run, of {len(known):,}")


main()
