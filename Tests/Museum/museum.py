#!/usr/bin/env python3
"""Runs the cases of the museum, two at a time. Each is a fault that was found once.

    SNAPSYNC=/usr/bin/snapsync Tests/Museum/museum.py [NAME...]

A case is a function of a script beside this one, and a line of README.md says what its fault was. `mutants` brings some faults back; Scripts/mutants.py builds them.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COMMAND = os.path.abspath(os.environ.get("SNAPSYNC", "/usr/bin/snapsync"))
LIMIT = 60
SHM = pathlib.Path("/dev/shm")


def cases():
    """The script of each case."""
    return {name: file for file in sorted(HERE.glob("*.sh")) if file.name != "scene.sh" for name in re.findall(r"^(\w+)\(\) \{$", file.read_text(), re.M)}


def mutants():
    """The mutants: case, file, text, and the text that brings the fault back."""
    return re.findall(r"^(\w+) (\S+)\n- (.+)\n\+ (.+)$", (HERE / "mutants").read_text(), re.M)


def faults():
    """What contradicts: a case without its one line, a line without its case, and a mutant whose text is not in its file once."""
    listed = re.findall(r"^\| \d\d-\d\d \| .* \| `(\w+)` \|$", (HERE / "README.md").read_text(), re.M)
    yield from (f"README.md: {name} has {listed.count(name)} lines" for name in cases() if listed.count(name) != 1)
    yield from (f"README.md: there is no case {name}" for name in listed if name not in cases())
    for name, file, old, _ in mutants():
        count = (ROOT / file).read_text().count(old)
        if count != 1 or name not in cases(): yield f"mutants: {name}: the text is in {file} {count} times"


def run(name, environment=None):
    """Runs a case; returns what it printed if it fails."""
    with tempfile.TemporaryDirectory(dir=SHM if os.access(SHM, os.W_OK) else None) as folder:
        words = ["bash", "-c", 'source "$0"; source "$1"; "$2"', HERE / "scene.sh", cases()[name], name]
        variables = {name: value for name, value in os.environ.items() if not name.startswith("SNAPSYNC")} | {"SNAPSYNC": COMMAND} | (environment or {})
        case = subprocess.Popen(words, cwd=folder, env=variables, text=True, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, start_new_session=True)
        try:
            said, _ = case.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(case.pid, 9)
            said, _ = case.communicate()
            return f"{said}not over after {LIMIT} s"
        return said if case.returncode else None


def main():
    begin, wrong, chosen = time.monotonic(), list(faults()), sys.argv[1:] or list(cases())
    wrong += [f"there is no case {name}" for name in chosen if name not in cases()]
    chosen = [name for name in chosen if name in cases()]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    with concurrent.futures.ThreadPoolExecutor(2) as two:
        for name, said in zip(chosen, two.map(run, chosen)):
            if said is None: continue
            wrong.append(name)
            print(f"{name}: " + "\n    ".join(said.strip().split("\n")[-12:]))
    print(f"museum: {len(chosen)} cases in {time.monotonic() - begin:.0f} s" + (f", {len(wrong)} faults" if wrong else ""))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
