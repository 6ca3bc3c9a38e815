#!/usr/bin/env python3
"""Long random tests in turn, for some hours: torture.py FOLDER [--hours 1] [--only TEXT]

FOLDER is where `swift build --build-tests` put its programs. Each kind runs with new seeds, which begin at the date and are printed, and gets its share of
the time. What a kind found is kept in .build/torture; counts since the beginning are in .build/torture/counts.json. Exits with 1 after a fault.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACE = ROOT / ".build/torture"

# Name, share of the time, the number of seeds of one run, the command, and what counts its cases: the sum of the numbers that this finds.
# In a command, {program}, {seed} and {count}; {tests:A|B} runs suites, with the seed and the count in their environment.
KILLED = r"(?m)^\| all +\| +\d+ \| +(\d+)"
TESTED = r"(?:run with|with) (\d+) tests? in"
KINDS = [
    ("rules of merging", 1, 1000, "python3 -B Tests/Model/histories.py {seed} {count}", r"(\d+) random histories"),
    ("command beside the rules", 4, 40, "python3 -B Tests/Model/command.py {program} {seed} {count}", r"(\d+) histories"),
    ("what must not matter", 2, 20, "python3 -B Tests/Model/relations.py {program} {seed} {count} bucket", r"(\d+) pairs"),
    ("second writer", 2, 20, "python3 -B Tests/IndependentWriter/random_histories.py {program} {seed} {count}", r"(\d+) histories"),
    ("statements, by SQL alone", 2, 1, "{tests:RandomStatementTests}", TESTED),
    ("simulated devices and disks", 2, 100, "{tests:SnapshotSyncTests.SimulationTests|ChangedCloudTests}", r"simulated histories: (\d+) had"),
    ("random versions and edits", 2, 1, "{tests:RandomHistoryTests|ThreeWaysTests|ReadMarkTests|LastWriteWinsTests|RandomVersionsTests|ChangedBlocksTests|BlockReuseTests|"
     "EncodedKeyTests|PartialEntityTests|SchemaUpdateTests|CompositeKeyTests|ColumnInstantTests|PlanBeforeEnablingTests|RebaseTests}", TESTED),
    ("eight peers, killed", 1, 1, "{tests:PeerProcessesTests}", TESTED),
    ("eight peers without pause", 1, 1, "python3 -B Scripts/contention.py {program} --edits 40", r"peers, (\d+) runs"),
    ("kills at system calls", 2, 1, "python3 -B Tests/Faults/kill_everywhere.py {program} --seed {seed} --sample 40", KILLED),
    ("kills, sealed zones", 1, 1, "python3 -B Tests/Faults/kill_sealed.py {program} --seed {seed} --sample 20", KILLED),
    ("kills, readers' edits", 1, 1, "python3 -B Tests/Faults/kill_edits.py {program} --seed {seed} --sample 20", KILLED),
    ("kills, bucket", 1, 1, "python3 -B Tests/Faults/kill_bucket.py {program} --seed {seed} --sample 10", KILLED),
    ("failing system calls", 2, 1, "python3 -B Tests/Faults/fail_everywhere.py {program} --seed {seed} --each 1 --sample 40", r"(?m)^\| all +\| +\d+ \| +\d+ \| +(\d+)"),
    ("full disks", 1, 1, "python3 -B Tests/Faults/full_disk.py {program} --seed {seed} --sample 10", KILLED),
    ("flipped bits, sealed zones", 1, 1, "python3 -B Tests/Faults/flip_sealed.py {program} --seed {seed} --step 199", r"(\d+) flips"),
    ("cut connections, bucket", 1, 1, "python3 -B Tests/Faults/cut_bucket.py {program} --seed {seed} --step 97", r"(\d+) cuts"),
    ("faulty answers, bucket", 1, 1, "{tests:BucketFaultTests}", TESTED),
    ("power cuts, every one", 2, 1, "{tests:PowerCutTests|RepairCutTests|SealedCutTests|StaleHandleTests}", TESTED),
    ("damage, every bit and length", 2, 1, "{tests:EveryDamageTests|SnapshotFormatTests.DamageTests}", TESTED),
    ("forged zones", 2, 40, "python3 -B Tests/Threats/forge_zones.py {program} {seed} {count}", r"(\d+) zones"),
    ("forged zones, signed", 1, 20, "$(python3 Tests/Signatures/interpreter.py) -B Tests/Threats/forge_zones.py {program} {seed} {count} --signed", r"(\d+) zones"),
    ("exchanged links", 1, 1, "python3 -B Tests/Threats/swap_links.py {program} {seed} 200", r"(\d+) runs"),
    ("hostile files and secrets", 1, 1, "{tests:HostileFileTests|ArrivingFileTests|SecretsTests|KeyFileTests}", TESTED),
    ("parsers", 2, 1, "FUZZ_SECONDS=10 Scripts/fuzz.sh all 1000000000", r"number_of_executed_units: (\d+)"),
    ("file systems and tools", 1, 1, "Tests/Transports/run.sh {program}", r"\d s  (passed)"),
]


def run(kind, options, counts):
    """Runs a kind once, with the next seeds."""
    name, _, count, command, pattern = kind
    mine = counts.setdefault(name, {"seed": 0, "cases": 0, "seconds": 0, "faults": 0})
    seed = max(mine["seed"], (datetime.date.today() - datetime.date(2020, 1, 1)).days * 100_000)
    environment = dict(os.environ, SNAPSYNC=options.program)
    suites = re.fullmatch(r"\{tests:(.*)\}", command)
    if suites:
        command = f"{shlex.quote(options.tests)} --testing-library swift-testing --filter {shlex.quote(suites[1])}"
        environment |= {"SNAPSYNC_TORTURE": str(count), "SNAPSYNC_TORTURE_SEED": str(seed)}
    command = command.format(program=shlex.quote(options.program), seed=seed, count=count)
    begin = time.monotonic()
    done = subprocess.run(command, shell=True, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    seconds, cases = time.monotonic() - begin, sum(int(found) if found.isdigit() else 1 for found in re.findall(pattern, done.stdout))
    # A run that counts nothing has tested nothing.
    is_fault = done.returncode not in (0, 77) or done.returncode == 0 and not cases
    mine["seed"], mine["cases"], mine["seconds"], mine["faults"] = seed + count, mine["cases"] + cases, mine["seconds"] + seconds, mine["faults"] + is_fault
    print(f"{'FAULT ' if is_fault else 'passed'} {name}: {cases:,} cases from seed {seed}, {seconds:.0f} s", flush=True)
    if is_fault:
        place = PLACE / f"{name.replace(' ', '-').replace(',', '')}-{seed}.txt"
        place.write_text(f"{command}\n{done.stdout}")
        print(f"       {place}\n       " + "\n       ".join(done.stdout.strip().splitlines()[-6:]), flush=True)
    (PLACE / "counts.json").write_text(json.dumps(counts, indent=1))
    return seconds, cases, is_fault


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--hours", type=float, default=1)
    parser.add_argument("--only", default="", help="the kinds whose names contain this")
    options = parser.parse_args()
    folder = options.folder.resolve()
    options.program, options.tests = str(folder / "snapsync"), str(next(folder.glob("*.xctest")))
    PLACE.mkdir(parents=True, exist_ok=True)
    file = PLACE / "counts.json"
    counts = json.loads(file.read_text()) if file.exists() else {}
    kinds = [kind for kind in KINDS if options.only in kind[0]]
    if not kinds: parser.error(f"no kind's name contains {options.only}; there are: {'; '.join(kind[0] for kind in KINDS)}")
    tonight = {kind[0]: [0.0, 0, 0] for kind in kinds}
    end = time.monotonic() + options.hours * 3600
    while time.monotonic() < end:
        # The kind that is furthest behind its share, since the beginning: short nights add up.
        kind = min(kinds, key=lambda kind: counts.get(kind[0], {"seconds": 0})["seconds"] / kind[1])
        tonight[kind[0]] = [a + b for a, b in zip(tonight[kind[0]], run(kind, options, counts))]
    print(f"\n{'':30}{'cases':>12}{'minutes':>9}{'faults':>8}{'cases in all':>15}{'hours':>8}{'faults':>8}")
    for name, (seconds, cases, faults) in tonight.items():
        all_ = counts.get(name, {"cases": 0, "seconds": 0, "faults": 0})
        print(f"{name:30}{cases:>12,}{seconds / 60:>9.1f}{faults:>8}{all_['cases']:>15,}{all_['seconds'] / 3600:>8.2f}{all_['faults']:>8}")
    sys.exit(any(faults for _, _, faults in tonight.values()))


if __name__ == "__main__":
    main()
