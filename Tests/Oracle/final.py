"""What must hold at the end of every history, once everybody has synced twice with nothing new."""
import os
import re
import sqlite3

import journal
from clock import SECOND
from devices import parsed
from follower import Failed

ROUNDS = 6


def judge(run, moment):
    """Brings all devices to rest and checks them."""
    devices, names = run.devices, run.devices.names
    for name in names:
        moment = ready(run, name, moment)
    quiet = 0
    for turn in range(ROUNDS):
        news = []
        for name in names:
            moment += SECOND
            step = {"kind": "sync", "device": name, "at": moment, "n": "final %d" % (turn + 1)}
            newest = devices.newest()
            result = devices.run(name, moment, "sync", "--json")
            run.expect(step, result, {0})
            run.look(name)
            run.follow(run.synced(name, devices.now(name, moment)), "the sync of %s in round %d at the end" % (name, turn + 1))
            if said_new(parsed(result), step) or devices.newest() != newest:
                news.append(name)
        quiet = 0 if news else quiet + 1
        if quiet == 2:
            run.figures["rounds to rest: %d" % (turn - 1)] += 1
            break
    else:
        raise Failed("after %d rounds of syncs, %s still have something new" % (ROUNDS, ", ".join(news)))
    equal(run)
    for name in names:
        moment = sound(run, name, moment)
    leftovers(run)


def ready(run, name, moment):
    """Turns sync on, sets a clock that is too far off, and sets up what was detached."""
    moment += SECOND
    if run.beyond(name, moment):
        run.devices.offsets[name] = 0
    if name in run.bare:
        run.do_init({"kind": "init", "device": name, "role": run.history.plan.role(name), "flags": ["--take-over"], "at": moment, "n": "final"})
    if name in run.off:
        run.do_enable({"kind": "enable", "device": name, "at": moment, "n": "final"})
    return moment


def said_new(report, step):
    if report is None:
        raise Failed("the sync of %s printed no JSON object" % step["device"])
    return bool(report.get("exported", {}).get("published") or report.get("imported", {}).get("applied") or report.get("messages", {}).get("sent"))


def equal(run):
    names = run.devices.names
    run.figures["rows at the end"] += sum(len(rows) for rows in run.seen[names[0]].values())
    first = run.seen[names[0]]
    for name in names[1:]:
        if run.seen[name] == first:
            continue
        lines = ["%s and %s differ for good" % (names[0], name)]
        for table in run.schema.tables:
            one, other = first[table.name], run.seen[name][table.name]
            for key in sorted(set(one) | set(other), key=repr):
                if one.get(key) != other.get(key) and run.compares((table.name, key)):
                    lines.append("  %s %r: %s has %r, %s has %r" % (table.name, key, names[0], one.get(key), name, other.get(key)))
        if len(lines) > 1:
            raise Failed("\n".join(lines))


def sound(run, name, moment):
    """SQLite's own checks, and those of the command."""
    devices = run.devices
    moment += SECOND
    if devices.query(name, "PRAGMA integrity_check") != [("ok",)]:
        raise Failed("%s: integrity_check: %r" % (name, devices.query(name, "PRAGMA integrity_check")))
    dangling = devices.query(name, "PRAGMA foreign_key_check")
    if dangling:
        raise Failed("%s: foreign_key_check: %r" % (name, dangling))
    step = {"kind": "look", "device": name, "at": moment, "command": ["verify", "--all", "--local"], "n": "final"}
    run.expect(step, devices.run(name, moment, "verify", "--all", "--local"), {0})
    step = dict(step, command=["doctor"])
    result = devices.run(name, moment, "doctor", "--json")
    report = parsed(result)
    if report is None:
        raise Failed("doctor on %s printed no JSON object\n%s" % (name, result.err))
    bad = ["%(severity)s %(id)s: %(found)s" % finding for finding in report["findings"]
           if finding["severity"] in ("warning", "error") and not run.expected_finding(name, finding)]
    if bad:
        raise Failed("doctor on %s ended with %d at the end:\n  %s" % (name, result.code, "\n  ".join(bad)))
    journal.check(run, name, moment)
    return moment


COMMITTED = re.compile(r"^(cloud\.json|private/ZentikSyncZone/(zone\.json|(commits|checkpoints)/\d{20}\.json|devices/\w+/\d{20}\.json"
                       r"|assets/\w+/\d{20}-[0-9a-f]{8}\.(changes\.json\.gz|json\.gz|index\.json)))$")
BESIDE = re.compile(r"^\w+\.db(-wal|-shm|-journal|\.snapsync-lock)?$|^(datasets\.json|cloud|\w+\.db\.snapsync-kept)$")


def leftovers(run):
    """Nothing lies in the cloud that is not the cloud's, nothing waits in a mailbox, and nothing unknown lies beside the databases."""
    devices = run.devices
    strange = [path for path in devices.cloud_files() if not COMMITTED.match(path)]
    if run.may_wait():
        strange = [path for path in strange if not path.startswith("private/ZentikSyncZone/messages/")]
    killed = run.figures["kills"] > 0
    strange = [path for path in strange if not (killed and is_temporary(path))]
    if strange:
        raise Failed("left in the cloud: %s" % ", ".join(sorted(strange)))
    beside = [name for name in os.listdir(devices.folder) if not BESIDE.match(name)]
    if beside:
        raise Failed("left beside the databases: %s" % ", ".join(sorted(beside)))


def is_temporary(path):
    """What a killed run may leave until a prune a day later: see docs/cloud-directory.md."""
    return os.path.basename(path).startswith(".") or path.startswith("private/ZentikSyncZone/waiting/")
