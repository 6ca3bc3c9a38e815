#!/usr/bin/env python3
"""Kills the syncs that carry readers' edits of an application's own tables, and sees that each edit arrives once.

usage: kill_edits.py SNAPSYNC [--sample N] [--only TEXT] [--seed N] [--jobs N]

As kill_everywhere.py, for tables that readers may edit (docs/readers.md). After each kill the same command runs again, and then all devices sync; then

  lost           a device has other rows than the edits make of them, or the mailbox is not empty
  twice          an edit is in a conflict journal, or waits at a reader although all is decided
  broken         a command that should work fails, or a database is not its version and the tracked changes
"""
import os, sqlite3, subprocess, sys

from figures import Figures
from injection import WAS_KILLED, is_changing
from scene import Failure, Scene
from workshop import Workshop, options

COLUMNS = ["calls", "killed", "lost", "twice", "broken"]
DEVICES = ("desk.db", "phone.db", "tablet.db")
TABLES = ("lists", "tasks", "tags")


class Scenario:
    """A command and what comes before it."""

    def __init__(self, name, line, prepare):
        self.name, self.line, self.prepare = name, line, prepare


def rows(scene, database):
    connection = sqlite3.connect(scene.place(database))
    try:
        return [sorted(map(repr, connection.execute("SELECT * FROM " + table))) for table in TABLES]
    finally:
        connection.close()


def joined(scene):
    scene.sql("desk.db", """
        CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL UNIQUE);
        CREATE TABLE tasks(list TEXT NOT NULL REFERENCES lists(id), number INTEGER NOT NULL, title TEXT, done INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY(list, number)) WITHOUT ROWID;
        CREATE TABLE tags(name TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, color TEXT);
        INSERT INTO lists VALUES('home', 'Home'), ('work', 'Work');
        INSERT INTO tasks VALUES('home', 1, 'sweep', 0), ('home', 2, 'cook', 0), ('work', 1, 'write', 0);
        INSERT INTO tags VALUES('Urgent', 'red');""")
    scene.succeed("init desk.db cloud --name desk --reader-edits all")
    scene.succeed("sync desk.db")
    for device in ("phone", "tablet"):
        scene.succeed("join %s.db cloud --name %s" % (device, device))
        scene.succeed("sync %s.db" % device)


def edited(scene):
    joined(scene)
    scene.sql("phone.db", """
        INSERT INTO lists VALUES('club', 'Club');
        INSERT INTO tasks VALUES('club', 1, 'meet', 0);
        UPDATE tasks SET done = 1 WHERE list = 'home' AND number = 1;
        DELETE FROM tasks WHERE list = 'home' AND number = 2;""")
    scene.sql("tablet.db", "UPDATE tags SET color = 'blue' WHERE name = 'urgent'")


EXPECTED = [
    ["('club', 'Club')", "('home', 'Home')", "('work', 'Work')"],
    ["('club', 1, 'meet', 0)", "('home', 1, 'sweep', 1)", "('work', 1, 'write', 0)"],
    ["('Urgent', 'blue')"],
]


def sent(scene):
    edited(scene)
    scene.succeed("sync phone.db")
    scene.succeed("sync tablet.db")


def answered(scene):
    sent(scene)
    scene.succeed("sync desk.db")


SCENARIOS = [
    Scenario("send", "sync phone.db", edited),
    Scenario("apply", "sync desk.db", sent),
    Scenario("answer", "sync phone.db", answered),
]


def judged(scenario, scene, was_killed):
    """Problems by kind, after the command has run to its end and all devices have synced."""
    problems = {kind: [] for kind in COLUMNS[2:]}
    try:
        if was_killed:
            scene.succeed(scenario.line)
        for database in ("phone.db", "tablet.db", "desk.db", "phone.db", "tablet.db", "desk.db"):
            scene.succeed("sync " + database)
        for database in DEVICES:
            if rows(scene, database) != EXPECTED:
                problems["lost"].append("%s has %r" % (database, rows(scene, database)))
            connection = sqlite3.connect(scene.place(database))
            if connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'snapsync_conflicts'").fetchone()[0]:
                count = connection.execute("SELECT count(*) FROM snapsync_conflicts").fetchone()[0]
                if count:
                    problems["twice"].append("%s has %d conflicts" % (database, count))
            connection.close()
            scene.succeed("check --all-versions --local " + database)
        for database in ("phone.db", "tablet.db"):
            connection = sqlite3.connect(scene.place(database))
            waiting = connection.execute("SELECT (SELECT count(*) FROM snapsync_sent) + (SELECT count(*) FROM snapsync_changes)").fetchone()[0]
            connection.close()
            if waiting:
                problems["twice"].append("%s has %d edits that wait" % (database, waiting))
        connection = sqlite3.connect(scene.place("desk.db"))
        decided = [row[0] for row in connection.execute("SELECT device FROM snapsync_decided ORDER BY device")]
        connection.close()
        if decided != ["phone", "tablet"]:
            problems["lost"].append("the writer decided edits of %r" % decided)
        left = [name for name in scene.files() if "/messages/" in name and name.endswith(".json")]
        if left:
            problems["lost"].append("%d messages are left in the mailbox" % len(left))
    except (Failure, sqlite3.Error, OSError) as error:
        problems["broken"].append(str(error))
    return problems


def torture(workshop, figures, scenario):
    scene = Scene(os.path.join(workshop.folder, "scene"), workshop.command)
    os.mkdir(scene.path)
    scenario.prepare(scene)
    with workshop.copy(scene) as copy:
        clean = workshop.inject(scenario, copy)
        found = judged(scenario, copy, False)
        if clean.status != 0 or any(found.values()):
            raise SystemExit("%s: the clean run ended with %d: %s %s" % (scenario.name, clean.status, clean.errors, found))
    figures.highest(scenario.name, "calls", len(clean.calls))
    points = workshop.sample(sorted({call.number + 1 for call in clean.calls if is_changing(call) and call.number < len(clean.calls)} | {1, len(clean.calls)}))

    def kill(point):
        with workshop.copy(scene) as copy:
            run = workshop.inject(scenario, copy, "-k", point)
            return None if run.status != WAS_KILLED else (run.calls[-1], judged(scenario, copy, True))

    for point, found in workshop.each(kill, points):
        if found is None:
            continue
        call, problems = found
        figures.add(scenario.name, killed=1)
        for kind, texts in problems.items():
            for text in texts[:1]:
                figures.problem(scenario.name, "killed at call %d (%s %s)" % (point, call.name, call.target.rpartition("/")[2]), kind, text)
    subprocess.run(["rm", "-rf", scene.path], check=True)


def run(arguments, kind, scenarios, columns, torture):
    """Tortures the scenarios and prints the figures; ends with 1 after a fault, or if a scenario was never killed."""
    figures = Figures(columns, columns[2:])
    with kind(arguments) as workshop:
        for scenario in scenarios:
            if not arguments.only or any(scenario.name.startswith(text) for text in arguments.only):
                torture(workshop, figures, scenario)
                print("%s: %s" % (scenario.name, figures.rows[scenario.name]), file=sys.stderr, flush=True)
    is_well = figures.show({})
    sys.exit(0 if is_well and all(row["killed"] > 0 for row in figures.rows.values()) else 1)


if __name__ == "__main__":
    run(options(__doc__.splitlines()[0]).parse_args(), Workshop, SCENARIOS, COLUMNS, torture)
