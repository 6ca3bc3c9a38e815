"""Random statements of an application on a database of make_databases.py, as: SNAPSYNC DATABASE ROLE SEED ROUNDS

ROLE is writer (with a reader that has made its tables and one that had them) or peer (three). At the end all tables are equal, bit for bit, every check of the
command passes, and each text that a device wrote and did not replace itself is in a table, in a conflict journal, or in a held row."""
import json, os, random, re, shutil, sqlite3, struct, subprocess, sys
program, source, role, seed, rounds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
R = random.Random(f"{source} {role} {seed}")
MARK = re.compile(r"«\d+»")
marks = 0


def q(name): return '"' + name.replace('"', '""') + '"'


def snapsync(*words, ok=(0,)):
    done = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode not in ok: sys.exit(f"snapsync {' '.join(words)} ended with {done.returncode}:\n{text}")
    return text


class Table:
    def __init__(self, db, name):
        self.name = name
        info = [c for c in db.execute(f"PRAGMA table_xinfo({q(name)})") if c[6] == 0]
        self.columns = {c[1]: (c[2].upper(), bool(c[3])) for c in info}
        self.key = [c[1] for c in sorted(info, key=lambda c: c[5]) if c[5]]
        self.counted = self.key[0] if len(self.key) == 1 and self.columns[self.key[0]][0] == "INTEGER" else None
        self.unique = [[x[2] for x in db.execute(f"PRAGMA index_info({q(i[1])})")] for i in db.execute(f"PRAGMA index_list({q(name)})") if i[2]]
        links = {}
        for k in db.execute(f"PRAGMA foreign_key_list({q(name)})"): links.setdefault(k[0], (k[2], []))[1].append((k[3], k[4]))
        self.links = list(links.values())


class Device:
    def __init__(self, file, tables):
        self.file, self.tables, self.made, self.gone, self.log = file, tables, set(), set(), []

    def open(self): return sqlite3.connect(self.file, isolation_level=None, timeout=20)

    def marks(self, db):
        return {m for t in self.tables for row in db.execute(f"SELECT * FROM {q(t.name)}") for v in row if isinstance(v, str) for m in MARK.findall(v)}

    def value(self, type):
        global marks
        marks += 1
        text = f"«{marks}» " + R.choice(["", "e\u0301 \u00e9", "😀", "'\"", "a\nb", "12"])
        if R.random() < 0.02 and "TIME" not in type: return R.choice([-0.0, 2**63 - 1, "", 1e300, text])
        # A timestamp that loses is in no journal.
        if "TIME" in type: return f"20{R.randrange(10, 30)}-0{R.randrange(1, 10)}-1{R.randrange(10)} 00:00:00"
        if "CHAR" in type or "TEXT" in type or type == "": return text
        if "BLOB" in type: return bytes(R.randrange(256) for _ in range(R.randrange(9)))
        if "BOOL" in type: return R.randrange(2)
        return R.randrange(60) if "INT" in type else R.choice([0.5, 1e-9, 3.0, 12345.678])

    def row(self, db, table):
        new = {c: None if not required and R.random() < 0.15 else self.value(type) for c, (type, required) in table.columns.items()}
        if table.counted: del new[table.counted]
        for parent, pairs in table.links:
            names = [to or Table(db, parent).key[n] for n, (_, to) in enumerate(pairs)]
            found = db.execute(f"SELECT {', '.join(map(q, names))} FROM {q(parent)} ORDER BY random() LIMIT 1").fetchone()
            if found and R.random() < 0.8: new.update(dict(zip([f for f, _ in pairs], found)))
        return new

    def statement(self, db):
        t = R.choice(self.tables)
        new, free = self.row(db, t), [c for c in t.columns if c not in t.key]
        one = lambda n=1: f"({', '.join(map(q, t.key))}) IN (SELECT {', '.join(map(q, t.key))} FROM {q(t.name)} ORDER BY random() LIMIT {n})"
        put = lambda how, row: db.execute(f"{how} INTO {q(t.name)}({', '.join(map(q, row))}) VALUES({', '.join('?' * len(row))})", list(row.values()))
        self.log[-1:] = [self.log[-1] + [t.name]]
        kind = R.choices(["insert", "update", "delete", "replace", "key", "exchange", "all"], [5, 6, 2, 1, 1, 2, 1])[0]
        if kind == "insert" or not t.key: return put("INSERT", new)
        if kind == "delete": return db.execute(f"DELETE FROM {q(t.name)} WHERE {one(2)}")
        if kind == "update" and free:
            cs = R.sample(free, min(len(free), R.randint(1, 3)))
            return db.execute(f"UPDATE {q(t.name)} SET {', '.join(q(c) + ' = ?' for c in cs)} WHERE {one()}", [new[c] for c in cs])
        if kind == "all" and free: return db.execute(f"UPDATE {q(t.name)} SET {q(R.choice(free))} = ?", [self.value("INT")])
        if kind == "replace":
            row = db.execute(f"SELECT {', '.join(map(q, t.columns))} FROM {q(t.name)} WHERE {one()}").fetchone()
            return row and put("REPLACE", dict(zip(t.columns, row)) | {c: new[c] for c in free if R.random() < 0.3})
        if kind == "key":
            c = R.choice(t.key)
            return db.execute(f"UPDATE {q(t.name)} SET {q(c)} = ? WHERE {one()}", [new.get(c, R.randrange(500, 999))])
        for column in [u[0] for u in t.unique if u[0] in free]:
            two = db.execute(f"SELECT {', '.join(map(q, t.key))}, {q(column)} FROM {q(t.name)} ORDER BY random() LIMIT 2").fetchall()
            if len(two) < 2: return
            rows = [(two[0][:-1], f"passing {marks}"), (two[1][:-1], two[0][-1]), (two[0][:-1], two[1][-1])]
            for key, v in rows: db.execute(f"UPDATE {q(t.name)} SET {q(column)} = ? WHERE {' AND '.join(q(k) + ' IS ?' for k in t.key)}", [v, *key])

    def session(self):
        db = self.open()
        db.execute(f"PRAGMA foreign_keys = {R.choice(['ON', 'ON', 'OFF'])}")
        before = self.marks(db)
        for _ in range(R.choice([1, 3, 8])):
            db.execute("BEGIN IMMEDIATE")
            self.log.append([self.file])
            try:
                for _ in range(R.choice([1, 1, 4])): self.statement(db)
                db.execute("COMMIT")
            except sqlite3.IntegrityError:
                db.execute("ROLLBACK")
            after = self.marks(db)
            self.log[-1] += [after - before, before - after]
            self.made |= after - before
            self.gone |= before - after
            before = after
        db.close()

    def content(self):
        db = self.open()
        db.text_factory = bytes
        exact = lambda v: (type(v).__name__, struct.pack(">d", v) if isinstance(v, float) else v)
        rows = lambda t: sorted(repr([exact(v) for v in row]) for row in db.execute(f"SELECT {', '.join(map(q, t.columns))} FROM {q(t.name)}"))
        return {t.name: rows(t) for t in self.tables}


def fail(text): sys.exit(f"{source} {role} seed {seed}: {text}")


def init(command, file, device, *more):
    skip = []
    for _ in range(3):
        words = [command, file, "cloud", "--name", device, *more, *skip]
        text = snapsync(*words, ok=(0, 78))
        refused = re.search(r"--exclude (\S+)$", text, re.M)
        if not refused: break
        skip = ["--exclude", refused[1]]
    else: fail(f"init refuses with --exclude as it said: {text}")


def main():
    shutil.copy(source, "0.db")
    names = ["0.db", "1.db", "2.db"]
    sharing = ["--shared-keys"] if role == "peer" else []
    init("init", "0.db", "d0", *(["--peers"] if role == "peer" else []), *sharing)
    snapsync("sync", "0.db")
    other = ["--peer"] if role == "peer" else []
    init("join", "1.db", "d1", *other, "--with-schema", *sharing)
    shutil.copy(source, "2.db")
    db = sqlite3.connect("2.db")
    for n, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE 'search_%'").fetchall():
        db.execute(f"DELETE FROM {q(n)}")
    db.commit()
    db.close()
    init("join", "2.db", "d2", *other, *sharing)
    db = sqlite3.connect("0.db")
    tables = [Table(db, n) for n, in db.execute("SELECT DISTINCT tbl_name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'snapsync%' AND tbl_name NOT LIKE 'snapsync%' ORDER BY 1")]
    devices = [Device(f, tables) for f in names]
    acting = devices if role == "peer" else devices[:1]
    for d in devices: snapsync("sync", d.file)
    for _ in range(rounds):
        for d in acting: d.session()
        for d in R.sample(devices, R.randint(1, 3)): snapsync("sync", d.file, "--allow-shrink", "all")
    for _ in range(3):
        for d in devices: snapsync("sync", d.file, "--allow-shrink", "all")
    first = devices[0].content()
    for d in devices[1:]:
        for table, rows in d.content().items():
            if rows != first[table]: fail(f"{table} differs: {[x for x in rows if x not in first[table]][:2]} at {d.file}, {[x for x in first[table] if x not in rows][:2]} at 0.db")
    have, kept = set(), set()
    for d in devices:
        snapsync("check", d.file, "--local")
        doctor = snapsync("check", d.file, ok=(0, 75))
        if "error" in doctor: fail(doctor)
        db = d.open()
        have |= d.marks(db)
        kept |= set(MARK.findall(json.dumps(json.loads(snapsync("conflicts", "list", d.file, "--all", "--json")), ensure_ascii=False)))
        kept |= {m for row in db.execute("SELECT entity FROM snapsync_held") for m in MARK.findall(json.dumps(json.loads(row[0]), ensure_ascii=False))}
        if (found := db.execute("PRAGMA integrity_check").fetchall()) != [("ok",)]: fail(f"integrity_check of {d.file}: {found}")
    lost = set().union(*(d.made for d in acting)) - set().union(*(d.gone for d in acting)) - have - kept
    if lost: fail(f"written and nowhere: {lost}, in {[entry for d in acting for entry in d.log if str(entry).count(min(lost))]}")
    print(f"{len(tables)} tables, {marks} values, {len(kept)} kept beside the tables")


main()
