#!/usr/bin/env python3
"""Makes mutants of the code by rule, and runs the tests that concern each: a mutant that no test finds shows what is not tested.

    Scripts/mutants.py                     300 mutants of all areas, from seed 1
    Scripts/mutants.py --count 20 --seed 7 --area merge
    Scripts/mutants.py --list              what there is, without building
    Scripts/mutants.py --museum            the faults of Tests/Museum/mutants, each before its case

Rules: a condition is turned; one side of `&&` or `||` counts as met; a call of which nothing is used is left out. All mutants are built into one copy,
each behind its number, so that one build does for all. Places at which the compiler accepts no such change are left out. A first run of each suite finds out
which mutants it reaches: those suites are tried, two at a time, for some seconds, first the fast ones, those that found many mutants of the same file, and those
that share words with its name. Exits with 1 if more than 3 % survive.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

from code_copy import ROOT, refresh

# For each area its files.
AREAS = {
    "merge": ["LocalStore/Merge", "SyncRuns/Conflicts"],
    "log": ["LocalStore/Track"],
    "publish": ["SyncRuns/Publish", "CloudStore/Log", "CloudStore/Cloud"],
    "apply": ["SyncRuns/Receive", "LocalStore/Apply", "LocalStore/Rows"],
    "disk": ["DirectoryCloud/Files", "DirectoryCloud/Repair"],
    "guards": ["SyncRuns/Guard"],
    "sealing": ["CloudStore/Sealing", "CloudStore/Signing", "CloudStore/Members", "SyncRuns/Members"],
    "parsers": ["StrictText", "SnapshotFormat/Bytes", "SnapshotFormat/Container", "SnapshotFormat/Index"],
}

# As `make test` builds, in which the tests of a mutant take a third of the time.
QUICK = ["-c", "release", "-debug-info-format", "none", "-Xswiftc", "-Onone", "-Xswiftc", "-enable-testing", "-Xswiftc", "-use-ld=lld"]

SWITCH = """import Foundation

/// Which mutant this run has, and which ones it reaches.
package enum Mutant {
    private static let number = ProcessInfo.processInfo.environment["MUTANT_OF_THIS_RUN"].flatMap(Int.init)
    private static let folder = ProcessInfo.processInfo.environment["MUTANTS_REACHED"]
    nonisolated(unsafe) private static let seen = UnsafeMutablePointer<Bool>.allocate(capacity: 10_000)
    private static let isTraced: Bool = { seen.initialize(repeating: false, count: 10_000); return folder != nil }()

    package static func isOn(_ mutant: Int) -> Bool {
        if isTraced, !seen[mutant] {
            seen[mutant] = true
            close(open("\\(folder!)/\\(mutant)", O_CREAT | O_WRONLY, 0o600))
        }
        return number == mutant
    }

    package static func turned(_ mutant: Int, _ condition: Bool) -> Bool { isOn(mutant) ? !condition : condition }
}
"""


class Place:
    """A mutant: its number, file, line, what it does, and the line with it."""

    def __init__(self, number, area, file, line, rule, text, old):
        self.number, self.area, self.file, self.line, self.rule, self.text, self.old = number, area, file, line, rule, text, old


def split(text, separator):
    """Splits at the separator where no parenthesis, bracket, brace or string is open; nil where one never closes."""
    parts, depth, start, i, quoted = [], 0, 0, 0, False
    while i < len(text):
        c = text[i]
        if c == "\\": i += 1
        elif c == '"': quoted = not quoted
        elif not quoted and c in "([{": depth += 1
        elif not quoted and c in ")]}": depth -= 1
        elif not quoted and depth == 0 and text.startswith(separator, i):
            parts.append(text[start:i])
            i += len(separator)
            start = i
            continue
        i += 1
    return None if depth or quoted else parts + [text[start:]]


def conditions(line):
    """The changes of the conditions of a line: (rule, the line with NUMBER in place of the mutant's number)."""
    match = re.match(r"^(\s*(?:\} else )?(?:guard|if|while) )(.*?)( else \{.*| \{.*)$", line)
    clauses = match and split(match[2], ", ")
    if not clauses: return
    for i, clause in enumerate(clauses):
        if re.match(r"(?:let|var|case|#)\b|#", clause) or " = " in clause or "await " in clause: continue
        def whole(new): return match[1] + ", ".join(clauses[:i] + [new] + clauses[i + 1:]) + match[3]
        yield "turned", whole(f"Mutant.turned(NUMBER, {clause})")
        # `&&` binds closer: beside a `||`, only the sides of that are whole.
        operator, word = (" || ", "&&") if len(split(clause, " || ") or []) > 1 else (" && ", "||")
        sides = split(clause, operator) or []
        for j in range(len(sides) if len(sides) > 1 else 0):
            met = "Mutant.isOn(NUMBER)" if word == "||" else "!Mutant.isOn(NUMBER)"
            yield "side dropped", whole(operator.join(sides[:j] + [f"({met} {word} {sides[j]})"] + sides[j + 1:]))


def changes(line, before):
    yield from conditions(line)
    # Neither a value, nor what a function returns without the word.
    if re.search(r"->.*\{$|\bvar .*\{$|\{ [^{}]* in$|[(,=?:]$", before): return
    call = re.match(r"^(\s+)((?:try )?(?:[a-z_]|[A-Z]\w*\.)[\w.?!]*\((?:.*)\))$", line)
    if call and split(call[2], "\0") and not re.match(r"(?:super|self)\.init|fatalError|precondition|assert|.*(?:logger\.|progress\?\(|reserveCapacity)|print", call[2]):
        yield "call left out", f"{call[1]}if !Mutant.isOn(NUMBER) {{ {call[2]} }}"


def places(areas):
    found = []
    for area in areas:
        for folder in AREAS[area]:
            for path in sorted((ROOT / "Sources" / folder).rglob("*.swift")):
                quoted, lines = False, path.read_text().split("\n")
                for number, line in enumerate(lines):
                    if line.count('"""') == 1: quoted = not quoted
                    if quoted or '"""' in line or line.lstrip().startswith("//"): continue
                    for rule, text in changes(line, lines[number - 1]):
                        found.append(Place(0, area, str(path.relative_to(ROOT)), number, rule, text, line.strip()))
    return found


def mutated(chosen):
    """The files with the mutants in them; one for each line."""
    files = {}
    for place in chosen:
        lines = files.setdefault(place.file, (ROOT / place.file).read_text().split("\n"))
        lines[place.line] = place.text.replace("NUMBER", str(place.number))
    texts = {file: "\n".join(lines) for file, lines in files.items()}
    # The import stands at the end of the first line, so that lines keep their numbers.
    texts = {file: text if re.search(r"^(package |public |internal )?import StrictText", text, re.M) else "import StrictText; " + text for file, text in texts.items()}
    return {**texts, "Sources/StrictText/Mutant.swift": SWITCH}


def build(chosen, copy, scratch, *what):
    """Builds the mutants, with the tests or what else is asked for; leaves out those that do not compile, until the rest does."""
    for _ in range(40):
        refresh(copy, mutated(chosen))
        run = subprocess.run(["swift", "build", *(what or ["--build-tests"]), *QUICK, "--scratch-path", str(scratch)], cwd=copy, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if run.returncode == 0:
            if not what: subprocess.run([copy / "Scripts/link_static.sh", "swiftc", scratch / "release"], check=True)
            return chosen
        errors = set(re.findall(r"(Sources/\S+\.swift):(\d+):\d+: error:", run.stdout.decode(errors="replace")))
        # The compiler names the line of the change, or another one of its statement.
        wrong = set()
        for file, line in errors:
            near = [place for place in chosen if place.file == file]
            if near: wrong.add(min(near, key=lambda place: abs(place.line + 1 - int(line))))
        rest = [place for place in chosen if place not in wrong]
        if len(rest) == len(chosen): sys.exit("mutants: the copy does not build:\n" + run.stdout.decode(errors="replace")[-3000:])
        print(f"mutants: {len(chosen) - len(rest)} do not compile", flush=True)
        chosen = rest
    sys.exit("mutants: the copy does not build")


def testing(options, *words):
    return [str(next((options.scratch / "release").glob("*.xctest"))), "--testing-library", "swift-testing", *words]


def suites(options):
    """The names of the suites, with what the filter of tests has to match."""
    listed = subprocess.run(testing(options, "--list-tests"), stdout=subprocess.PIPE, check=True, text=True).stdout
    return sorted(name for name in set(re.findall(r"^(\w+\.\w+)/", listed, re.M)) if re.search(options.suites, name))


def run_tests(options, suite, stops=True, limit=600, **environment):
    """Runs the tests of a suite, if `stops` until one fails; returns whether all passed in `limit` seconds, the line that says so, and the seconds that it took."""
    begin, said = time.monotonic(), ""
    command = testing(options, "--filter", f"^{re.escape(suite)}/")
    run = subprocess.Popen(command, cwd=options.copy, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True, errors="replace", start_new_session=True)
    def end():
        # Programs that the tests have started have groups of their own, in the session.
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                if int(stat.read_text().rpartition(")")[2].split()[3]) == run.pid: os.kill(int(stat.parent.name), signal.SIGKILL)
            except (OSError, ValueError): continue
    timer = threading.Timer(limit, end)
    timer.start()
    for line in run.stdout:
        if line.strip(): said = line.strip()
        if stops and re.search(r"recorded an issue|Test .* failed after|Fatal error|signal code", line):
            end()
            break
    passed = run.wait() == 0
    timer.cancel()
    return passed, said[:160], time.monotonic() - begin


def words(text): return {word.lower().rstrip("s") for word in re.findall(r"[A-Z][a-z]+", text)} - {"test", "sync"}


def museum(options):
    """Brings the faults of the museum back, one at a time; returns those that their cases do not notice."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(ROOT / "Tests/Museum"))
    import museum as cases
    chosen = []
    for number, (case, file, old, new) in enumerate(cases.mutants(), 1):
        line, text = next((n, text) for n, text in enumerate((ROOT / file).read_text().split("\n")) if old in text)
        chosen.append(Place(number, case, file, line, "", text.replace(old, new), old))
    cases.COMMAND = str(options.scratch / "release/snapsync")
    if len(build(chosen, options.copy, options.scratch, "--product", "snapsync")) < len(chosen): sys.exit("mutants: a mutant of the museum does not compile")
    survivors = []
    for place in chosen:
        if cases.run(place.area) is not None: sys.exit(f"mutants: without a mutant {place.area} fails")
        if cases.run(place.area, {"MUTANT_OF_THIS_RUN": str(place.number)}) is None: survivors.append(place)
        print(f"{'SURVIVES' if place in survivors else 'found':9}{place.number:4}  {place.area}  {place.file}:{place.line + 1}  {place.old[:120]}", flush=True)
    return survivors


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=1, help="the number of the first mutant that is tried, with the trace of an earlier run")
    parser.add_argument("--area", choices=sorted(AREAS), nargs="+", default=sorted(AREAS))
    parser.add_argument("--suites", default=".", help="which suites are tried: a regular expression")
    parser.add_argument("--museum", action="store_true", help="bring the faults of Tests/Museum/mutants back, each before its case")
    parser.add_argument("--list", action="store_true", help="print the mutants without building them")
    parser.add_argument("--copy", type=pathlib.Path, default=ROOT / ".build-mutants/copy", help="where the copy of the code is made")
    parser.add_argument("--scratch", type=pathlib.Path, default=ROOT / ".build-mutants/build", help="where it is built")
    parser.add_argument("--seconds", type=int, default=90, help="how long the suites of one mutant may take together, as measured without it (86400: all)")
    options = parser.parse_args()
    if options.museum: sys.exit(bool(museum(options)))
    every = places(options.area)
    random.Random(options.seed).shuffle(every)
    chosen, lines = [], set()
    for place in every:
        if len(chosen) < options.count and (place.file, place.line) not in lines:
            lines.add((place.file, place.line))
            chosen.append(place)
            place.number = len(chosen)
    print(f"mutants: {len(chosen)} of {len(every)}, seed {options.seed}", flush=True)
    if options.list:
        for place in chosen: print(f"{place.number:4} {place.area:8} {place.rule:14} {place.file}:{place.line + 1}  {place.old[:120]}")
        return
    chosen, trace = build(chosen, options.copy, options.scratch), options.scratch / "trace.json"
    def reached(suite):
        with tempfile.TemporaryDirectory() as folder:
            passed, said, seconds = run_tests(options, suite, stops=False, MUTANTS_REACHED=folder)
            # A test that counts system calls sees those of the trace.
            if not passed: passed, said, seconds = run_tests(options, suite)
            if not passed: print(f"without a mutant {suite} does not pass, and is left out: {said}", flush=True)
            return suite, seconds, [int(name) for name in os.listdir(folder)] if passed else []

    def tried(place):
        def price(suite): return took[suite] / (1 + found_by[place.file, suite] + 4 * len(words(pathlib.Path(place.file).stem + place.old) & words(suite)))
        reaching = sorted((suite for suite in reach if place.number in reach[suite]), key=price)
        begin = time.monotonic()
        found = next((suite for suite, before in zip(reaching, itertools.accumulate((took[suite] for suite in reaching), initial=0))
                      if before < options.seconds and not run_tests(options, suite, limit=30 + 10 * took[suite], MUTANT_OF_THIS_RUN=str(place.number))[0]), None)
        print(f"{'found' if found else 'SURVIVES' if reaching else 'UNREACHED':9}{place.number:4} {place.rule:14} {time.monotonic() - begin:4.0f} s  {place.file}:{place.line + 1}  {place.old[:120]}", flush=True)
        found_by[place.file, found] += 1
        return found

    with concurrent.futures.ThreadPoolExecutor(2) as two:
        traces = json.loads(trace.read_text()) if options.first > 1 else list(two.map(reached, suites(options)))
        trace.write_text(json.dumps(traces))
        reach, took, found_by = {suite: numbers for suite, _, numbers in traces}, {suite: seconds for suite, seconds, _ in traces}, collections.Counter()
        print(f"{len(took)} suites, {sum(took.values()):.0f} s", flush=True)
        chosen = [place for place in chosen if place.number >= options.first]
        survivors = [place for place, found in zip(chosen, two.map(tried, chosen)) if not found]
    share = len(survivors) / max(len(chosen), 1)
    print(f"mutants: {len(chosen) - len(survivors)} of {len(chosen)} were found; {share:.1%} survive")
    sys.exit(1 if share > 0.03 else 0)


if __name__ == "__main__":
    main()
