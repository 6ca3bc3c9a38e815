"""A series of random histories, for programs that are called as: PROGRAM COMMAND [SEED] [HISTORIES], or PROGRAM COMMAND --seeds SEED,SEED,...

They print the seed of each history with a fault. In the environment, KEEP=1 keeps the folders of such histories, STEPS=1 prints their steps, LIMIT=N ends the
series after N of them (5), and JOBS=N makes so many histories at once (1): they wait for the command's processes.
"""
import concurrent.futures
import os
import shutil
import sys
import tempfile
import traceback


class Fault(Exception):
    """What is wrong in a history, in some lines."""


def arguments():
    """The path of the command, and the seeds of the histories that are wanted."""
    command, *others = sys.argv[1:]
    if others[:1] == ["--seeds"]:
        return os.path.abspath(command), [int(seed) for seed in others[1].split(",")]
    seed, count = (others[:2] + ["1", "20"][len(others[:2]):])
    return os.path.abspath(command), range(int(seed), int(seed) + int(count))


def one(make, seed):
    """Makes a history. Returns what is wrong with it, or nothing."""
    folder, history = tempfile.mkdtemp(prefix="snapsync-history-"), None
    try:
        history = make(seed, folder)
        history.run()
    except Exception as error:
        lines = error.args if isinstance(error, Fault) else [traceback.format_exc()]
        told = ["\n  ".join(map(str, [f"seed {seed} {getattr(history, 'kind', '')}".strip() + ":", *lines]))]
        told += [" ".join(map(str, ["   ", *step])) for step in history.steps] if history and os.environ.get("STEPS") else []
        if os.environ.get("KEEP"):
            return "\n".join([*told, "  kept: " + folder])
        shutil.rmtree(folder, ignore_errors=True)
        return "\n".join(told)
    shutil.rmtree(folder, ignore_errors=True)
    return None


def run(make, seeds, what, wrong):
    """`make(seed, folder)` makes a history, which has `run()`, `steps` and perhaps `kind`. Returns whether one has a fault."""
    count = failures = 0
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", 1))) as pool:
        for told in pool.map(lambda seed: one(make, seed), seeds):
            count += 1
            if told:
                failures += 1
                print(told, flush=True)
            if failures >= int(os.environ.get("LIMIT", 5)):
                pool.shutdown(wait=False, cancel_futures=True)
                break
    print(f"{count} {what}, {failures} {wrong}")
    return failures > 0
