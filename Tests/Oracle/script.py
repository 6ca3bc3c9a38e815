"""A history as a shell script of sqlite3 and snapsync commands that somebody can run by hand."""
import re
import shlex

import clock

HEAD = """#!/bin/bash
# %(kind)s, seed %(seed)s. What was wrong:
%(problem)s
# SNAPSYNC is the built command. Each line has a device and its clock, in seconds after BASE; clock.c is Tests/Oracle/clock.c.
S=$(realpath "${SNAPSYNC:-$(command -v snapsync)}"); BASE=$(($(date +%%s) - 3600))
CLOCK=${CLOCK:-Tests/Oracle/clock.c}; cc -shared -fPIC -o /tmp/oracle-clock.so "$CLOCK" || exit 1
cd "$(mktemp -d)"; pwd
# at SECONDS COMMAND…: with the clock that many seconds after BASE.  t SECONDS FORM: a timestamp.
micros() { python3 -c "print($BASE * 1000000 + round($1 * 1000000))"; }
at() { local now; now=$(micros "$1"); shift; LD_PRELOAD=/tmp/oracle-clock.so ORACLE_CLOCK=$now "$@"; local rc=$?; [ $rc = 0 ] || echo "  exit code $rc: $*"; }
t() { PYTHONPATH=%(here)s python3 -c "import clock; print(clock.text($BASE * 1000000 + round($1 * 1000000), '$2'))"; }
"""


def statement(sql):
    return clock.TOKEN.sub(lambda match: "$(t %s %s)" % (int(match.group(1)) / 1e6, match.group(2)), sql)


def script(history, problem):
    steps = history.steps
    lines = [HEAD % {"kind": history.kind, "seed": history.seed, "here": '"${ORACLE:-%s}"' % clock.HERE, "problem": re.sub("^", "#   ", problem, flags=re.M)}]
    lines.append("cat > datasets.json <<'END'\n%s\nEND" % history.schema.dataset_file())
    for name in history.plan.names:
        made = ("PRAGMA journal_mode = WAL; " if history.plan.wal[name] else "") + ";\n  ".join(history.schema.statements())
        lines.append("sqlite3 %s.db \"%s\" >/dev/null" % (name, made))
    offsets = dict(history.plan.offsets)
    for step in steps:
        lines += rendered(step, offsets, history)
    last = max((step["at"] for step in steps), default=0)
    for turn in range(3):
        for name in history.plan.names:
            last += clock.SECOND
            lines.append("at %.3f $S sync --db %s.db" % ((last + offsets[name]) / 1e6, name))
    for name in history.plan.names:
        for table in history.schema.tables:
            lines.append("echo %s.%s; sqlite3 %s.db 'SELECT * FROM %s ORDER BY id'" % (name, table.name, name, table.name))
    return "\n".join(lines) + "\n"


def rendered(step, offsets, history):
    name, kind = step.get("device"), step["kind"]
    if kind == "clock":
        offsets[name] = step["offset"]
        return ["# the clock of %s is now %+.3f s off" % (name, step["offset"] / 1e6)]
    if kind == "age":
        return ["find cloud -exec touch -h -d '%d days ago' {} +   # days go by" % step["days"]]
    if kind == "race":
        return ["(%s wait)" % " ".join("at %.3f $S sync --db %s.db &" % ((step["at"] + offsets[each]) / 1e6, each) for each in step["devices"])]
    moment = "at %.3f " % ((step["at"] + offsets[name]) / 1e6)
    on = " --db %s.db" % name
    write = ""
    if "ops" in step:
        sql = "; ".join(statement(op["sql"]) for op in step["ops"])
        write = '%ssqlite3 -bail -cmd ".timeout 20000" %s.db "PRAGMA foreign_keys = %s; BEGIN IMMEDIATE; %s; COMMIT"' % (
            moment, name, "ON" if step["foreign_keys"] else "OFF", sql.replace("\\", "\\\\").replace("`", "\\`").replace('"', '\\"'))
    if kind == "edit":
        return [write]
    if kind == "during":
        return ["(%s$S sync%s & sleep %s; %s; wait)" % (moment, on, step["after"], write)]
    if kind == "kill":
        if "call" in step:
            before = "strace -f -qqq -o /dev/null -e trace=%(call)s -e inject=%(call)s:signal=KILL:when=%(when)d " % step
        else:
            before = "timeout -s KILL %s " % step["after"]
        return [moment + before + "$S sync" + on]
    if kind == "init":
        datasets = "" if history.schema.built_in else " --datasets datasets.json"
        return [moment + "$S init --cloud cloud --role %s --device %s%s%s%s" % (step["role"], name, "".join(" " + flag for flag in (["--shared-keys"] if step["role"] != "reader" else []) + step.get("flags", [])), datasets, on)]
    if kind == "enable":
        return [moment + "$S enable --yes" + on]
    if kind == "look" or kind == "command":
        return [moment + "$S " + " ".join(backward(part, step) for part in step["command"]) + on]
    return [moment + "$S " + kind + on]


def backward(part, step):
    """BACK stands for a version so many before the newest."""
    if part == "BACK":
        return "$(($(ls cloud/private/*/commits | grep -c json) - %d))" % step["back"]
    return shlex.quote(str(part))
