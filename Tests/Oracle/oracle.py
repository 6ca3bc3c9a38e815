#!/usr/bin/env python3
"""Random histories of the built command against a model that was written from the documents alone: see docs/reliability.md.

    python3 Tests/Oracle/oracle.py --command .build/debug/snapsync --kind writer --histories 40 --seed 1
"""
import argparse
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter

import clock
import history
import script
import shrink


class Tools:
    """What every history needs: the command, the clock's shim, a folder for scratch files."""

    def __init__(self, command, scratch, without, short=False):
        self.command, self.scratch, self.without, self.short = os.path.abspath(command), scratch, without, short
        self.shim = clock.build(scratch)


def one(task):
    kind, seed, tools = task
    made = history.History(kind, seed, without=tools.without, short=tools.short)
    begun = time.monotonic()
    try:
        outcome = history.run(made, tools)
        problem = outcome.problem
        figures = outcome.figures
    except Exception as failure:
        import traceback
        return seed, made.steps, "the oracle itself failed: %s" % traceback.format_exc(limit=-4), Counter(), made.schema.kinds, time.monotonic() - begun
    return seed, made.steps, problem, figures, made.schema.kinds, time.monotonic() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, help="the built snapsync")
    parser.add_argument("--kind", choices=["writer", "edits", "all"], default="all")
    parser.add_argument("--histories", type=int, default=40, help="how many of each kind")
    parser.add_argument("--seed", type=int, help="the first seed; else drawn")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--no-shrink", action="store_true", help="do not look for the fewest steps of a failing history")
    parser.add_argument("--again", type=int, default=0, help="run a failing history so often again, and count it only if it fails again; kills and races differ from run to run")
    parser.add_argument("--most", type=int, default=5, help="end after so many failures")
    parser.add_argument("--finds", help="a folder for a script of each failing history")
    parser.add_argument("--without", nargs="*", default=[], choices=["unique", "parent", "future", "repeat", "jumps"],
        help="what no history shall have: UNIQUE columns, foreign keys, timestamps in the future, a REPLACE that repeats the timestamp, clocks that jump")
    parser.add_argument("--short", action="store_true", help="histories of a third of the length, for a sample")
    parser.add_argument("--show", action="store_true", help="print the steps of each history and how long they took")
    arguments = parser.parse_args()
    # A parent that blocks SIGTERM in its threads hands that on; the pool ends its processes with that signal.
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    seed = arguments.seed if arguments.seed is not None else random.randrange(1, 1_000_000)
    scratch = tempfile.mkdtemp(prefix="snapsync-oracle-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    failures = 0
    try:
        tools = Tools(arguments.command, scratch, arguments.without, arguments.short)
        for kind in ["writer", "edits"] if arguments.kind == "all" else [arguments.kind]:
            failures += batch(kind, seed, arguments, tools)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print("oracle: %s" % ("all is well" if failures == 0 else "%d histories failed" % failures))
    sys.exit(1 if failures else 0)


def batch(kind, seed, arguments, tools):
    print("oracle: %d histories of %s, seeds %d to %d" % (arguments.histories, kind, seed, seed + arguments.histories - 1), flush=True)
    tasks = [(kind, seed + number, tools) for number in range(arguments.histories)]
    figures, having, failed, begun, done = Counter(), Counter(), 0, time.monotonic(), 0
    with multiprocessing.Pool(arguments.jobs) as pool:
        for number, steps, problem, counts, kinds, seconds in pool.imap_unordered(one, tasks):
            done += 1
            figures.update(counts)
            having.update(["schema with " + name for name in kinds] + [name for name, count in counts.items() if count])
            if arguments.show:
                print("  seed %d: %.1f s, %d steps%s" % (number, seconds, len(steps or []), ", FAILED" if problem else ""), flush=True)
            if problem and arguments.again and not comes_again(kind, number, problem, arguments, tools):
                figures["failed once, and not again"] += 1
                having["failed once, and not again"] += 1
                continue
            if problem:
                failed += 1
                report(kind, number, steps, problem, arguments, tools)
                if failed >= arguments.most:
                    pool.terminate()
                    break
    print("%s: %d histories in %.0f s, %d failed" % (kind, done, time.monotonic() - begun, failed))
    for name in sorted(figures):
        print("  %s: %d, in %d histories" % (name, figures[name], having[name]))
    for name in sorted(name for name in having if name.startswith("schema")):
        print("  %s: %d histories" % (name, having[name]))
    return failed


def comes_again(kind, seed, problem, arguments, tools):
    """Whether a failing history fails again; its first problem is printed in any case."""
    print("failed once: %s seed %d\n%s" % (kind, seed, problem), flush=True)
    return any(one((kind, seed, tools))[2] for _ in range(arguments.again))


def report(kind, seed, steps, problem, arguments, tools):
    print("FAILED: %s seed %d, %d steps\n%s" % (kind, seed, len(steps or []), problem), flush=True)
    if steps is None or problem.startswith("the oracle itself"):
        return
    if not arguments.no_shrink:
        steps, problem = shrink.shrink(kind, seed, steps, problem, tools)
    text = script.script(history.History(kind, seed, steps, tools.without, tools.short), problem)
    if not arguments.no_shrink:
        print("fewest steps (%d):\n%s" % (len(steps), text), flush=True)
    if arguments.finds:
        os.makedirs(arguments.finds, exist_ok=True)
        with open(os.path.join(arguments.finds, "%s-%d.sh" % (kind, seed)), "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
