#!/usr/bin/env python3
"""Forges zones whose every hash, length and signature is right and whose contents lie, and sees what the commands do with them.

usage: forge_zones.py SNAPSYNC SEED COUNT [--signed] [--only LIE] [--keep FOLDER]

A true zone of two peers, a reader and an observer has three tables, a view, an index, a trigger, a pin, a message and reports. Each of COUNT zones (number N is made from
SEED + N) has one to three lies of lies.py in or after its newest version. With --signed, those who lie are a reader, an observer, a device that waits for its approval, and a
stranger, with their own keys. These meet it: a reader and a peer that have read the version before, a reader that has read nothing, a device that joins (also with
the zone's SQL text), the publisher whose message it is, and the commands that look.

What must hold:
  - each command ends within a minute and 256 MB, by no signal, with 0 or a status of docs/running.md, and not with 64 or 74;
  - no row, table, trigger or setting of the database is another but those of the zone's tables and the program's own; no file but those of the database and the zone's;
  - a refused import of a reader changes no row; what a member of lesser right wrote changes none anywhere;
  - nothing printed steers a terminal, JSON is JSON, no hint runs anything but snapsync, and a page has no markup of the forger's.
"""
import argparse, collections, contextlib, inspect, json, os, random, re, shutil, signal, sqlite3, subprocess, sys, tempfile, time, unicodedata

import lies
from zone import Zone

CODES = {0, 65, 66, 69, 75, 77, 78}
BYTES, SECONDS = 256 << 20, 60
# How often a zone meets a command.
SHARES = collections.defaultdict(lambda: 0.3, reader=1, join=0.6, first=0.8, peer=0.6, desk=0.6)
TABLES = """
CREATE TABLE people(id TEXT PRIMARY KEY NOT NULL, name TEXT COLLATE NOCASE UNIQUE, boss TEXT REFERENCES people ON DELETE SET NULL);
CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, title TEXT DEFAULT 'none', person TEXT REFERENCES people ON DELETE CASCADE, score REAL, body BLOB, updated_at TEXT);
CREATE TABLE pairs(a TEXT NOT NULL, b INTEGER NOT NULL, v, PRIMARY KEY(a, b)) WITHOUT ROWID;
CREATE INDEX titles ON notes(title);
CREATE VIEW named AS SELECT title, name FROM notes JOIN people ON person = people.id;
CREATE TRIGGER spread INSTEAD OF INSERT ON named BEGIN INSERT INTO notes(id, title) VALUES(new.title, new.title); END;
"""
ROWS = """
INSERT INTO people VALUES('p1', 'Ann', NULL), ('p2', 'Bob', 'p1'), ('p3', 'Cid', 'p2'), ('p4', 'Dot', NULL);
INSERT INTO notes SELECT 'n' || value, 'Title ' || value, 'p' || (1 + value % 4), value / 2.0, x'00ff', '2026-11-21T08:00:00.000Z' FROM json_each('[1,2,3,4,5,6,7,8]');
INSERT INTO pairs VALUES('a1', 1, 'x'), ('a1', 2, 2.5), ('a2', 1, NULL), ('a3', 9, x'00');
"""
# What no zone may touch: the guards fail even a statement that changes it and changes it back.
CANARY = "CREATE TABLE canary(id INTEGER PRIMARY KEY AUTOINCREMENT, v TEXT); INSERT INTO canary VALUES(1, 'alive'), (7, 'well'); CREATE TABLE untouched(id INTEGER PRIMARY KEY, v TEXT);" + "".join(
    "CREATE TRIGGER canary_guard_%s BEFORE %s ON canary BEGIN SELECT RAISE(ABORT, 'the canary'); END;" % (verb, verb) for verb in ("INSERT", "UPDATE", "DELETE")) + "PRAGMA user_version = 17;"
OWN = ("people", "notes", "pairs")


class Wrong(Exception):
    pass


class Scene:
    def __init__(self, path, command):
        self.path, self.command, self.wrapper = path, command, []
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("SNAPSYNC_", "XDG_"))}
        self.environment.update(HOME=self.place("home"), XDG_DATA_HOME=self.place("keys"), TMPDIR=self.place("temporary"), NO_COLOR="1")

    def place(self, *parts): return os.path.join(self.path, *parts)

    @property
    def zone(self): return self.place("cloud", "private", "main")

    def run(self, words, on_terminal=False):
        """Runs the command: its status, output, errors, and the most memory that it had."""
        main = side = None
        with tempfile.TemporaryFile(dir=self.path) as output, tempfile.TemporaryFile(dir=self.path) as errors:
            if on_terminal: main, side = os.openpty()
            run = subprocess.Popen(self.wrapper + [self.command] + words, cwd=self.path, env=self.environment, stdin=subprocess.DEVNULL, stdout=side or output, stderr=errors)
            seen = b""
            signal.alarm(SECONDS)
            try:
                if on_terminal:
                    os.close(side)
                    # At its end a terminal fails.
                    with contextlib.suppress(OSError):
                        while piece := os.read(main, 65536): seen += piece
                    os.close(main)
                _, status, usage = os.wait4(run.pid, 0)
            except TimeoutError:
                run.kill()
                run.wait()
                raise Wrong("it runs for more than %d s" % SECONDS)
            finally: signal.alarm(0)
            run.returncode = os.waitstatus_to_exitcode(status)
            for stream in (output, errors): stream.seek(0)
            return run.returncode, (seen.replace(b"\r\n", b"\n") or output.read()).decode(errors="replace"), errors.read().decode(errors="replace"), usage.ru_maxrss * 1024

    def succeed(self, line):
        status, output, errors, _ = self.run(line.split())
        if status: raise Wrong("%s ended with %d: %s" % (line, status, errors))
        return output

    def sql(self, database, script):
        connection = sqlite3.connect(self.place(database))
        connection.executescript(script)
        connection.close()

    def copy(self, path):
        shutil.copytree(self.path, path, symlinks=True)
        new = Scene(path, self.command)
        for name in os.listdir(path):
            if name.endswith(".db") and name not in ("fresh.db", "new.db"):
                new.sql(name, "UPDATE snapsync_settings SET value = replace(value, '%s', '%s')" % (self.path, path))
        if os.path.exists(new.place("fresh.db")): new.sql("fresh.db", "UPDATE snapsync_settings SET value = replace(value, '%s', '%s')" % (self.path, path))
        return new

    def outside(self):
        """The bytes of every file but the databases' own, the zone's and the keys'."""
        found = {}
        for folder, _, names in os.walk(self.path):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), self.path)
                if re.match(r"(?:cloud/private/main|copied|keys|[a-z]+\.db\.snapsync-kept)/|[a-z]+\.db(?:-journal|-wal|-shm|\.snapsync-lock)?$|page\.html$", path): continue
                with open(os.path.join(folder, name), "rb") as file: found[path] = file.read()
        return found


def contents(path):
    """What a database has that is the zone's (schema and rows), and what is not."""
    connection = sqlite3.connect(path)
    connection.text_factory = bytes
    try:
        schema = {(kind, name): (table, sql) for kind, name, table, sql in connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'snapsync\\_%' ESCAPE '\\' AND tbl_name NOT LIKE 'snapsync\\_%' ESCAPE '\\'")}
        tables = sorted(name for kind, name in schema if kind == b"table")
        def rows(name): return sorted(connection.execute('SELECT * FROM "%s"' % name.decode().replace('"', '""')).fetchall(), key=repr)
        own, others = {}, {}
        for name in tables: (own if name.decode() in OWN else others)[name] = rows(name)
        # The program's own tables have rowids, not the counters of AUTOINCREMENT.
        others[b"sqlite_sequence"] = [row for row in others.get(b"sqlite_sequence", []) if not row[0].startswith(b"snapsync_")]
        pragmas = [connection.execute("PRAGMA " + name).fetchone() for name in ("user_version", "application_id", "journal_mode", "page_size", "auto_vacuum", "encoding")]
        sound = connection.execute("PRAGMA integrity_check").fetchall()
        return schema, own, (others, pragmas), sound
    finally: connection.close()


def base(path, command, is_signed):
    scene = Scene(path, command)
    for name in ("cloud", "home", "keys", "temporary", "paste"): os.makedirs(scene.place(name))
    os.rmdir(scene.place("cloud"))
    with open(scene.place("outside"), "w") as file: file.write("outside")
    scene.sql("desk.db", TABLES + ROWS)
    scene.succeed("init desk.db cloud --peers --name desk --reader-edits people,notes" + (" --sign" if is_signed else ""))
    scene.succeed("sync desk.db")
    for name, role in (("laptop", "--peer"), ("phone", ""), ("watch", ""), ("stranger", "")):
        scene.sql(name + ".db", "SELECT 1")
        scene.succeed("join %s.db cloud --name %s %s" % (name, name, role))
        if is_signed and name != "stranger": scene.succeed("zone approve desk.db %s --yes" % name)
    if is_signed: scene.succeed("zone role desk.db watch observer")
    scene.sql("desk.db", "UPDATE notes SET title = 'Second' WHERE id = 'n2'; DELETE FROM pairs WHERE a = 'a2'")
    scene.succeed("sync desk.db")
    for name in ("laptop", "phone"): scene.succeed("sync %s.db" % name)
    scene.succeed("pin desk.db 1 --name first")
    scene.sql("phone.db", "UPDATE notes SET title = 'by the reader' WHERE id = 'n3'; INSERT INTO people VALUES('p8', 'Reader', 'p1')")
    scene.succeed("sync phone.db")
    scene.succeed("join fresh.db cloud --name fresh")
    scene.sql("desk.db", "UPDATE notes SET title = 'Last', score = 9.5 WHERE id IN ('n1', 'n5'); UPDATE people SET name = 'Eve' WHERE id = 'p4'; INSERT INTO pairs VALUES('a4', 4, 'new')")
    # The publisher has not seen the message yet.
    os.rename(os.path.join(scene.zone, "messages/phone"), scene.place("paste", "phone"))
    scene.succeed("export desk.db")
    os.rename(scene.place("paste", "phone"), os.path.join(scene.zone, "messages/phone"))
    for name in ("desk", "laptop", "phone", "fresh", "new"): scene.sql(name + ".db", CANARY)
    scene.sql("laptop.db", "UPDATE notes SET score = 77 WHERE id = 'n6'; INSERT INTO people VALUES('p9', 'Zoe', 'p1')")
    return scene


def is_clean(shown):
    return not any(c != "\n" and (unicodedata.category(c) in ("Cc", "Cf") or c in "\u2028\u2029") for c in shown)


class Judge:
    def __init__(self, command, seed, is_signed, folder, keep=None):
        self.is_signed, self.folder, self.keep, self.seed = is_signed, folder, keep, seed
        self.codes, self.unwritten = collections.Counter(), collections.Counter()
        self.lies = {name: one for name, one in vars(lies).items() if inspect.isfunction(one) and list(inspect.signature(one).parameters) == ["zone", "random"]}
        self.base = base(os.path.join(folder, "base"), command, is_signed)
        self.keys = {}
        if is_signed:
            sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Signatures"))
            from forge import Keys, key_file
            for name in ("desk", "laptop", "phone", "watch", "stranger"): self.keys[name] = Keys(key_file(name, self.base.place("keys")))
        # The rows that there may be without anybody's lies, without and with the true message.
        self.known = [self.truth(has_message) for has_message in (False, True)]

    def truth(self, has_message):
        scene, found = self.base.copy(os.path.join(self.folder, "true")), set()
        if not has_message: shutil.rmtree(os.path.join(scene.zone, "messages"))
        # The rows of the first version, which restore brings back.
        scene.sql("first.db", TABLES + ROWS)
        for name in ("none", "laptop", "desk", "phone", "laptop", "fresh"):
            if name != "none": scene.succeed("sync %s.db" % name)
            for database in ("first", "desk", "laptop", "phone", "fresh"): found |= self.rows(scene, database + ".db")
        shutil.rmtree(scene.path)
        return found

    def rows(self, scene, database): return {(table, row) for table, rows in contents(scene.place(database))[1].items() for row in rows}

    def forge(self, scene, number, only):
        """Puts lies into the zone. Returns their names."""
        chance = random.Random("%d %d" % (self.seed, number))
        names = []
        for _ in range(100):
            zone = Zone(scene.zone)
            zone.keys = self.keys
            chosen = [self.lies[only]] if only else [chance.choice([lies.overstep, lies.overstep, lies.whisper, lies.whisper, lies.admission])] if self.is_signed else chance.choices(lies.LIES, k=chance.choice([1, 1, 1, 2, 3]))
            names = [one.__name__ for one in chosen]
            for one in chosen: one(zone, chance)
            try:
                zone.save()
                self.forged = zone
                return names
            except Exception as problem:
                # A lie that cannot be written down: another one.
                self.unwritten[repr(problem)] += 1
                shutil.rmtree(scene.zone)
                shutil.copytree(self.base.zone, scene.zone)
        raise Wrong("no zone was made")

    def commands(self, chance):
        also = ["--json"] if chance.random() < 0.3 else []
        yield "check", ["check", "cloud", "--read-data"] + also, None
        yield "query", ["query", "cloud", "SELECT * FROM %s" % chance.choice(OWN)], None
        yield "log", ["log", "cloud"] + also, None
        yield "show", ["show", "cloud", chance.choice(OWN)], None
        yield "get", ["get", "cloud", "notes", "n1"], None
        yield "changes", ["changes", "cloud", "--since", "1"], None
        yield "copy", ["copy", "cloud", "copied"], None
        yield "tables sql", ["tables", "sql", "cloud"], None
        yield "status", ["status", "phone.db", "--html", "page.html"], "phone.db"
        yield "plan", ["sync", "laptop.db", "-n"] + also, "laptop.db"
        yield "reader", ["sync", "phone.db"] + also + chance.choice([[], [], ["--on-import", "cat > /dev/null"]]), "phone.db"
        yield "look", chance.choice([["diff", "phone.db", "1", "2"], ["pending", "phone.db"], ["check", "phone.db"], ["conflicts", "phone.db"], ["tables", "list", "phone.db"], ["status", "phone.db"], ["log", "phone.db", "notes", "n1"], ["zone", "members", "phone.db"]]) + also, "phone.db"
        yield "fresh", ["sync", "fresh.db"], "fresh.db"
        yield "adopt", ["tables", "adopt", "fresh.db"] + chance.choice([[], ["--create"]]), "fresh.db"
        yield "join", ["join", "new.db", "cloud", "--name", "new"] + chance.choice([[], ["--with-schema"], ["--peer", "--with-schema"]]), "new.db"
        # Set up or not, as the command before left it.
        yield "first", ["sync", "new.db"], "new.db"
        yield "peer", ["sync", "laptop.db"] + also, "laptop.db"
        yield "desk", ["sync", "desk.db"], "desk.db"
        yield "pending", ["pending", "desk.db"] + also, "desk.db"
        yield "again", ["sync", "phone.db"], "phone.db"
        yield "restore", ["restore", "laptop.db", chance.choice("1234")], "laptop.db"
        yield "undo", ["undo", "laptop.db"], "laptop.db"
        yield "prune", ["prune", "desk.db", "--keep-last", "1"], "desk.db"
        yield "after", ["check", chance.choice(["desk.db", "cloud"]), "--all-versions"], "desk.db"
        yield "repair", ["repair", "cloud", "-n"], None

    def zone(self, number, only=None):
        """Makes one zone and runs all commands on it. Returns the lies and what is wrong."""
        scene, wrong = self.base.copy(os.path.join(self.folder, "zone-%d" % number)), []
        # The tables of the zone that the devices have made.
        self.made = set()
        chance = random.Random("%d %d commands" % (self.seed, number))
        try:
            names = self.forge(scene, number, only)
            outside = scene.outside()
            for name, words, database in self.commands(chance):
                if chance.random() > SHARES[name]: continue
                before = contents(scene.place(database)) if database else None
                try: problems = self.command(scene, name, words, database, before, chance)
                except Wrong as problem: problems = [str(problem)]
                if database: problems += self.compare(scene, names, name, words, database, before)
                now = scene.outside()
                changed = sorted(path for path in now.keys() | outside.keys() if now.get(path) != outside.get(path))
                if changed: problems.append("other files changed: %r" % changed)
                outside = now
                wrong += ["seed %d, zone %d (%s): snapsync %s: %s" % (self.seed, number, " ".join(names), " ".join(words), problem) for problem in problems]
            if wrong and self.keep: shutil.copytree(scene.path, os.path.join(self.keep, "zone-%d" % number), symlinks=True, dirs_exist_ok=True)
            return names, wrong
        finally: shutil.rmtree(scene.path, ignore_errors=True)

    def command(self, scene, name, words, database, before, chance):
        # Into a pipe these write the rows as they are.
        is_raw = words[0] in ("query", "show", "get", "changes") or words[:2] == ["tables", "sql"]
        on_terminal = is_raw and chance.random() < 0.5
        is_raw = is_raw and not on_terminal
        status, output, errors, memory = scene.run(words, on_terminal)
        self.codes[name, status] += 1
        self.status, problems = status, []
        if status not in CODES: problems.append("it ended with %d: %s" % (status, errors[-2000:]))
        if memory > BYTES: problems.append("it took %d MB" % (memory >> 20))
        for shown in (errors,) if is_raw else (output, errors):
            if not is_clean(shown): problems.append("it prints what a terminal obeys: %r" % shown[:1000])
        if "--json" in words and status == 0:
            try: [json.loads(line) for line in ([output] if output.lstrip().startswith(("{\n", "[\n")) else output.splitlines())]
            except ValueError:
                try: json.loads(output)
                except ValueError as problem: problems.append("its JSON is none: %s: %r" % (problem, output[:300]))
        if "\ufffd" in output + errors and not is_raw: problems.append("it prints bytes that are no text: %r" % errors[:300])
        for line in set((output + "\n" + errors).splitlines() if not is_raw else errors.splitlines()):
            # An error begins with the command that failed.
            for command in re.split(r"\bsnapsync (?=[a-z])", line)[1:] if "owned" in line else []:
                if not re.match(r"[a-z ]+: ", command): problems += self.paste(scene, "snapsync " + command)
        if name == "status" and os.path.exists(scene.place("page.html")):
            checked = subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Page/structure.py"), scene.place("page.html")], capture_output=True, text=True)
            if checked.returncode: problems.append("the page: " + checked.stdout)
            with open(scene.place("page.html"), encoding="utf-8") as file:
                if not is_clean(file.read()): problems.append("the page has control characters")
            os.unlink(scene.place("page.html"))
        return problems

    def paste(self, scene, line):
        """Runs what a line prints as a command, where `snapsync` does nothing and `owned` shows."""
        script = "snapsync() { :; }; owned() { : > paste/owned; }; " + line
        subprocess.run(["/bin/bash", "-c", script], cwd=scene.path, env={"PATH": "/nonexistent"}, capture_output=True, timeout=10, stdin=subprocess.DEVNULL)
        found = os.listdir(scene.place("paste"))
        for one in found: os.unlink(scene.place("paste", one))
        return ["pasted, it runs more than snapsync: %r" % line] if found else []

    def compare(self, scene, names, name, words, database, before):
        problems, now = [], contents(scene.place(database))
        if now[3] != [(b"ok",)]: problems.append("the database is damaged: %r" % now[3][:3])
        own = {one.encode() for one in OWN}
        makes = {"join": True, "adopt": True}.get(name, False)
        for key in now[0].keys() | before[0].keys():
            if now[0].get(key) == before[0].get(key): continue
            table = (now[0].get(key) or before[0][key])[0]
            # A device that joins makes tables that it has not, with their indexes; views and triggers only if it is asked to.
            is_new = key not in before[0] and (makes and (key[0] in (b"table", b"index") or "--with-schema" in words))
            if is_new and key[0] == b"table": self.made.add(key[1])
            if not is_new and not (name == "adopt" and table in own): problems.append("the schema has another %r: %r, before %r" % (key, now[0].get(key), before[0].get(key)))
        mine, theirs = now[2], before[2]
        for table, rows in theirs[0].items():
            # A table without rows is the zone's, too, once a person has said so.
            if table in self.made or table == b"untouched" and (database == "new.db" or name == "adopt"): continue
            if mine[0].get(table) != rows: problems.append("the table %r is another: %r, before %r" % (table, mine[0].get(table), rows))
        if mine[1] != theirs[1]: problems.append("the settings of the file are others: %r, before %r" % (mine[1], theirs[1]))
        # A peer imports, and may then be refused what it publishes.
        is_import = name in ("reader", "fresh", "again")
        looks = name in ("status", "plan", "look", "pending", "after", "prune")
        if self.is_signed or names == ["message"]:
            # A reader may write to the tables that are open to it, and nobody else of those who lie here to any.
            may = (b"people", b"notes") if not self.is_signed or self.forged.is_rightful else ()
            untrue = {row for row in self.rows(scene, database) - self.known[names != ["whisper"]] if row[0] not in may}
            if untrue: problems.append("it took what a member of lesser right made: %r" % sorted(untrue, key=repr)[:5])
        if now[1] != before[1] and (looks or is_import and self.status not in (0, 75)): problems.append("it ended with %d and changed rows" % self.status)
        return problems


def heed_alarms():
    """Lets an alarm end a wait; a process that a thread of the tests starts has its signals blocked."""
    def stop(*_): raise TimeoutError()
    signal.signal(signal.SIGALRM, stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command")
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--signed", action="store_true")
    parser.add_argument("--only", help="the name of one lie")
    parser.add_argument("--first", type=int, default=0, help="the number of the first zone")
    parser.add_argument("--keep", help="a folder for the scenes in which something is wrong")
    arguments = parser.parse_args()
    heed_alarms()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder, begin = tempfile.mkdtemp(prefix="snapsync-forged-", dir=memory), time.monotonic()
    counts, wrong = collections.Counter(), []
    try:
        judge = Judge(os.path.abspath(arguments.command), arguments.seed, arguments.signed, folder, arguments.keep)
        for number in range(arguments.first, arguments.first + arguments.count):
            names, problems = judge.zone(number, arguments.only)
            counts.update(names)
            wrong += problems
            for problem in problems: print(problem[:3000], flush=True)
        print("seed %d: %d zones, %d runs, %d problems, %.0f s" % (arguments.seed, arguments.count, sum(judge.codes.values()), len(wrong), time.monotonic() - begin))
        print("  " + ", ".join("%s %d" % one for one in sorted(counts.items())))
        for name in dict.fromkeys(name for name, _ in judge.codes): print("  %-10s %s" % (name, ", ".join("%d: %d" % (code, count) for (one, code), count in sorted(judge.codes.items()) if one == name)))
        if arguments.only: print("  not written: %s" % judge.unwritten.most_common(3))
        # Where nothing is refused or nothing is taken, the forger does not reach what is read.
        taken = {code for (name, code) in judge.codes if name == "reader"}
        sys.exit(0 if not wrong and (arguments.count < 20 or {0, 65} <= taken) else 1)
    finally: shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__": main()
