#!/usr/bin/env python3
"""What triggers that log changed columns cost an application: processor time of one transaction, as a ratio to the same table without triggers.

usage: trigger_bench.py [rows] [rounds]

Forms of the triggers:
    empty     a trigger that does nothing: the least that any trigger costs
    present   the triggers of ChangeTriggers.swift: the key and the time, without columns; the row that an insertion may replace is noted
    bits      one AFTER UPDATE trigger that compares all columns and logs a bit set
    groups N  one AFTER UPDATE OF trigger for each N columns, which logs if one of them changed
The suffix "-over" is the same without the BEFORE INSERT trigger.
"""
import gc
import os
import sqlite3
import sys
import time

COUNT, ROUNDS = ([int(a) for a in sys.argv[1:]] + [50_000, 3][len(sys.argv) - 1:])[:2]
CLOCK = "CAST((julianday('now') - 2440587.5) * 86400000 + 0.5 AS INTEGER)"
LOG = "CREATE TABLE snapsync_log(seq INTEGER PRIMARY KEY, dataset INTEGER NOT NULL, key, clock INTEGER NOT NULL, stamp, changed INTEGER)"


def scoped(value, columns):
    """SQLite refuses to drop a column that a trigger names, unless an outer scope has a column of that name."""
    blank = "(SELECT " + ", ".join(f"NULL AS {c}" for c in columns) + ")"
    return f"(SELECT (SELECT (SELECT {value}) FROM {blank} AS new) FROM {blank} AS old)"


def bits(columns, row="OLD"):
    return " + ".join(f"CASE WHEN NEW.{c} IS {row}.{c} THEN 0 ELSE {1 << i} END" for i, c in enumerate(columns[:62]))


def triggers(columns, form):
    name, over = form.split("-")[0], "-over" not in form and "empty" not in form
    if name == "untracked":
        return []
    if name == "empty":
        return [f"CREATE TRIGGER empty_{e} AFTER {e} ON t BEGIN SELECT 1; END" for e in ("INSERT", "UPDATE")]

    def trigger(event, values, *conditions):
        when = " AND ".join(conditions)
        return (f"CREATE TRIGGER s{len(result)} {event} ON t {'WHEN ' + when if when else ''} "
                f"BEGIN INSERT INTO snapsync_log(dataset, key, clock, changed) {values}; END")
    result = [LOG]
    result.append(trigger("AFTER INSERT", f"VALUES (1, NEW.id, {CLOCK}, NULL)"))
    if over:
        differs = "0" if name == "present" else bits(columns, "t")
        result.append(trigger("BEFORE INSERT", f"SELECT 1, NEW.id, 0, {differs} FROM t WHERE t.id = NEW.id", "EXISTS (SELECT 1 FROM t WHERE t.id = NEW.id)"))
    result.append(trigger("AFTER UPDATE OF id", f"VALUES (1, OLD.id, {CLOCK}, NULL)", "OLD.id IS NOT NEW.id"))
    if name in ("present", "bits"):
        changed = "NULL" if name == "present" else scoped(bits(columns), columns) if "scoped" in form else bits(columns)
        result.append(trigger(f"AFTER UPDATE OF id, {', '.join(columns)}", f"VALUES (1, NEW.id, {CLOCK}, {changed})"))
    else:
        size = int(name.split()[1])
        for number in range(0, len(columns), size):
            group = columns[number:number + size]
            value, differs = f"{number // size * 32} + {bits(group)}", " OR ".join(f"NEW.{c} IS NOT OLD.{c}" for c in group)
            if "scoped" in form:
                value, differs = scoped(value, group), scoped(differs, group)
            result.append(trigger(f"AFTER UPDATE OF {', '.join(group)}", f"VALUES (1, NEW.id, {CLOCK}, {value})", differs if "scoped" in form else f"({differs})"))
    return result


def measure(create, form, columns, rows, job, path="/dev/shm/trigger_bench.db"):
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(path + suffix):
            os.remove(path + suffix)
    db = sqlite3.connect(path, isolation_level=None)
    for sql in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL", *create, "BEGIN"):
        db.execute(sql)
    if rows:
        db.executemany(f"INSERT INTO t VALUES({', '.join('?' * (len(columns) + 1))})", rows)
    db.execute("COMMIT")
    for sql in triggers(columns, form):
        db.execute(sql)
    gc.collect()
    begin = time.process_time()
    db.execute("BEGIN IMMEDIATE")
    job(db)
    db.execute("COMMIT")
    taken = time.process_time() - begin
    db.close()
    return taken


def compare(title, forms, *arguments):
    best = {form: min(measure(arguments[0], form, *arguments[1:]) for _ in range(ROUNDS)) for form in ["untracked"] + forms}
    print(f"{title}: untracked {best['untracked'] / COUNT * 1e6:.2f} us a row; " + "; ".join(f"{f} {best[f] / best['untracked']:.2f}" for f in forms), flush=True)


def main():
    for width, index, key in ((9, True, "TEXT"), (20, False, "TEXT"), (20, False, "INTEGER"), (70, False, "TEXT")):
        columns = [f"c{i}" for i in range(1, width)]
        create = [f"CREATE TABLE t(id {key} PRIMARY KEY NOT NULL, {', '.join(columns)})"] + ["CREATE INDEX i ON t(c2)"] * index
        rows = [(f"key-{i * 7919 % 1_000_003:012d}" if key == "TEXT" else i, *((f"value {i} {j}", i * j, i / 7)[j % 3] for j in range(width - 1))) for i in range(COUNT)]
        name, marks = f"{width} columns, {key.lower()} key{', an index' * index}", ", ".join("?" * width)
        insertion = ["empty", "present", "present-over", "bits"]
        update = ["empty", "present", "bits", "groups 5", "groups 5-scoped", "groups 10"]
        every = ", ".join(f"{c} = ?" for c in columns)
        compare(f"INSERT, {name}", insertion, create, columns, [], lambda db: db.executemany(f"INSERT INTO t VALUES({marks})", rows))
        compare(f"INSERT OR REPLACE of all, one column differs, {name}", ["present", "bits", "present-over"], create, columns, rows,
                lambda db: db.executemany(f"INSERT OR REPLACE INTO t VALUES({marks})", [(*r[:3], 7.5, *r[4:]) for r in rows]))
        compare(f"UPDATE of one column, row by row, {name}", update, create, columns, rows, lambda db: db.executemany("UPDATE t SET c3 = 7.5 WHERE id = ?", [r[:1] for r in rows]))
        compare(f"UPDATE that sets all columns, one differs, {name}", update, create, columns, rows,
                lambda db: db.executemany(f"UPDATE t SET {every} WHERE id = ?", [(*r[1:3], 7.5, *r[4:], r[0]) for r in rows]))
        compare(f"UPDATE of one column, one statement, {name}", update, create, columns, rows, lambda db: db.execute("UPDATE t SET c3 = c3 + 1"))


if __name__ == "__main__":
    main()
