"""A series of random histories, for programs that are called as: PROGRAM COMMAND [SEED] [HISTORIES]. They print the seed of each history with a fault.

In the environment, KEEP=1 keeps the folders of such histories, STEPS=1 prints their steps, and LIMIT=N ends the series after N of them (5).
"""
import os
import shutil
import sys
import tempfile
import traceback


class Fault(Exception):
    """What is wrong in a history, in some lines."""


def arguments():
    """The path of the command, the first seed, and how many histories are wanted."""
    seed, count = (sys.argv[2:4] + ["1", "20"][len(sys.argv[2:4]):])
    return os.path.abspath(sys.argv[1]), int(seed), int(count)


def run(make, seed, count, what, wrong):
    """`make(seed, folder)` makes a history, which has `run()`, `steps` and perhaps `kind`. Returns whether one has a fault."""
    failures = 0
    for number in range(seed, seed + count):
        folder, history = tempfile.mkdtemp(prefix="snapsync-history-"), None
        try:
            history = make(number, folder)
            history.run()
        except Exception as error:
            failures += 1
            lines = error.args if isinstance(error, Fault) else [traceback.format_exc()]
            print(f"seed {number} {getattr(history, 'kind', '')}".strip() + ":", *lines, sep="\n  ", flush=True)
            for step in history.steps if history and os.environ.get("STEPS") else ():
                print("   ", *step)
            if os.environ.get("KEEP"):
                print("  kept:", folder)
                continue
        shutil.rmtree(folder, ignore_errors=True)
        if failures >= int(os.environ.get("LIMIT", 5)):
            break
    print(f"{number - seed + 1} {what}, {failures} {wrong}")
    return failures > 0
