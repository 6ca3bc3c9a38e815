#!/usr/bin/env python3
"""Sees that the judge of forge_zones.py finds what is wrong: the command with one fault more, each in turn.

usage: check_judge.py SNAPSYNC
"""
import collections, os, shutil, sys, tempfile

import forge_zones
from forge_zones import Judge, heed_alarms

# What the faulty command does after a sync of the reader; what the judge finds.
FAULTS = [
    ("pass", None),
    ("os.abort()", "it ended with -6"),
    ("sys.exit(74)", "it ended with 74"),
    ("time.sleep(9)", "it runs for more than"),
    ("bytearray(300 << 20)", "MB"),
    ("print('\\x1b[2J')", "a terminal obeys"),
    ("print('\\u202e', file=sys.stderr)", "a terminal obeys"),
    ("print('hint: run snapsync sync $(owned)', file=sys.stderr)", "it runs more than snapsync"),
    ("open('cloud/private/stranger', 'w').close()", "other files changed"),
    ("open('outside', 'w').close()", "other files changed"),
    ("sql('DROP TRIGGER canary_guard_UPDATE; UPDATE canary SET v = 0; ' + GUARD)", "the table b'canary' is another"),
    ("sql('CREATE TRIGGER r AFTER INSERT ON notes BEGIN SELECT 1; END')", "the schema has another"),
    ("sql('CREATE TABLE t(v)')", "the schema has another"),
    ("sql('PRAGMA user_version = 3')", "the settings of the file are others"),
    ("sql('DELETE FROM notes'); sys.exit(65)", "it ended with 65 and changed rows"),
]
COMMAND = """#!%s -S
import os, sqlite3, subprocess, sys, time
status = subprocess.run([%r] + sys.argv[1:]).returncode
GUARD = "CREATE TRIGGER canary_guard_UPDATE BEFORE UPDATE ON canary BEGIN SELECT RAISE(ABORT, 'the canary'); END;"
def sql(script): sqlite3.connect('phone.db').executescript(script)
if os.path.exists(%r) and sys.argv[1:3] == ['sync', 'phone.db']:
    with open(%r) as fault: exec(fault.read())
sys.exit(status)
"""


def main():
    heed_alarms()
    forge_zones.SECONDS = 5
    forge_zones.SHARES = collections.defaultdict(int, reader=1)
    folder = tempfile.mkdtemp(prefix="snapsync-judge-")
    try:
        command, fault = os.path.join(folder, "snapsync"), os.path.join(folder, "fault")
        with open(command, "w") as file: file.write(COMMAND % (sys.executable, os.path.abspath(sys.argv[1]), fault, fault))
        os.chmod(command, 0o755)
        judge, missed = Judge(command, 1, False, folder), []
        for number, (code, finding) in enumerate(FAULTS):
            with open(fault, "w") as file: file.write(code)
            _, problems = judge.zone(number, "report")
            if not problems if finding else problems: missed.append("%s: %s" % (code, problems))
            if finding and not any(finding in problem for problem in problems): missed.append("%s: %s" % (code, problems))
        print("\n".join(missed) or "%d faults found" % (len(FAULTS) - 1))
        sys.exit(1 if missed else 0)
    finally: shutil.rmtree(folder, ignore_errors=True)


main()
