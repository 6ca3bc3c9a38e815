#!/usr/bin/env python3
"""Reads zones that the command made with both readers, compares them with the databases bit for bit, and damages them.

    SNAPSYNC=/usr/bin/snapsync Sources/Readers/test.py

Encrypted zones and signatures need PyPI's cryptography (48 or later). The JavaScript tests need `node` (18 or later). With SNAPSYNC_BROWSER=1 the page is opened in Chromium.
"""
import functools
import glob
import http.server
import io
import json
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "python"))

import snapsync_reader as reader
from snapsync_reader import history as commits

COMMAND = os.environ.get("SNAPSYNC", "snapsync")
ENCRYPTION = commits.ed25519() is not None
ZONE, BUILT_IN = "private/main", "private/ZentikSyncZone"


def dump(database, table, columns="*"):
    """A table as sorted rows of pairs: the storage class and the bytes of each value."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    connection.text_factory = bytes
    table = table.replace('"', '""')
    names = [c[0] for c in connection.execute(f'SELECT {columns} FROM "{table}" LIMIT 0').description]
    select = ", ".join(f'"{name}", typeof("{name}")' for name in (n.replace('"', '""') for n in names))
    rows = [tuple((row[i + 1].decode(), binary(row[i])) for i in range(0, len(row), 2)) for row in connection.execute(f'SELECT {select} FROM "{table}"')]
    connection.close()
    return names, sorted(rows)


def binary(value):
    return b"" if value is None else value if isinstance(value, bytes) else struct.pack(">d", value) if isinstance(value, float) else b"%d" % value


def kinds(row):
    """A row of the reader in the form of `dump`."""
    made = []
    for value in row.values():
        if isinstance(value, reader.RawText):
            made.append(("text", value.data))
        elif isinstance(value, str):
            made.append(("text", value.encode()))
        else:
            made.append(({type(None): "null", int: "integer", float: "real", bytes: "blob"}[type(value)], binary(value)))
    return tuple(made)


class Place:
    """A folder with databases and a cloud directory. Keys lie in `home`."""

    def __init__(self):
        self.folder = tempfile.mkdtemp()
        self.cloud = os.path.join(self.folder, "cloud")
        self.environment = dict(os.environ, HOME=self.folder, XDG_DATA_HOME=os.path.join(self.folder, "keys"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *arguments, expect=0):
        done = subprocess.run([COMMAND + ("-examples" if arguments[0] == "generate" else ""), *arguments], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True)
        if done.returncode != expect:
            raise AssertionError(f"{arguments} ended with {done.returncode}: {done.stderr.decode()}")
        return done.stdout

    def init(self, db, *options, **more):
        self.run("init", db, self.cloud, "--name", db[:-3], *options, **more)

    def join(self, db, *options, **more):
        self.run("join", db, self.cloud, "--name", db[:-3], *options, **more)

    def sync(self, db):
        self.run("sync", db)

    def sql(self, db, script, rows=None):
        connection = sqlite3.connect(self.path(db))
        connection.executemany(script, rows) if rows is not None else connection.executescript(script)
        connection.commit()
        connection.close()

    def zone(self, zone=ZONE, **options):
        return reader.Zone(self.cloud, zone=zone, **options)

    def key(self, device):
        found, = glob.glob(f"{self.folder}/keys/**/{device}.json", recursive=True)
        with open(found) as file:
            return file.read()

    def files(self):
        return sorted(os.path.relpath(os.path.join(folder, name), self.cloud) for folder, _, names in os.walk(self.cloud) for name in names)


ODD = """
CREATE TABLE odd(id INTEGER PRIMARY KEY, v);
CREATE TABLE pair(a, b TEXT, c REAL, d NUMERIC, PRIMARY KEY(b, a)) WITHOUT ROWID;
CREATE TABLE folded(k TEXT COLLATE NOCASE PRIMARY KEY, v ANY);
CREATE TABLE trimmed(k TEXT COLLATE RTRIM, n INT, v BLOB, PRIMARY KEY(k, n));
CREATE TABLE nokey(x, y TEXT);
CREATE TABLE strictly(id INT PRIMARY KEY, any ANY, t TEXT DEFAULT 'it''s') STRICT;
CREATE TABLE parent(id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE COLLATE NOCASE);
CREATE TABLE child(id INTEGER PRIMARY KEY AUTOINCREMENT, p TEXT REFERENCES parent(id) ON DELETE CASCADE, n REAL NOT NULL DEFAULT 0.5);
CREATE TABLE "we ird ""t"(" a""b" BLOB PRIMARY KEY, "select" INT);
CREATE TABLE empty(id TEXT PRIMARY KEY, b);
INSERT INTO odd(v) VALUES(CAST(x'ff41' AS TEXT)), (CAST(x'' AS TEXT)), (x''), (CAST(x'c080' AS TEXT)), (CAST(x'eda080' AS TEXT));
INSERT INTO nokey VALUES(1, '1'), (1, '1'), (NULL, NULL);
INSERT INTO parent VALUES('p1', 'Ann'), ('p2', NULL);
INSERT INTO child(p, n) VALUES('p1', 1), ('p2', 2.5), (NULL, -0.0);
INSERT INTO "we ird ""t" VALUES(x'0001', 1), (x'00', 2), (x'', 3), (x'00ff', 4), (7, 5), ('x', 6);
"""
VALUES = [0, 1, -1, 1.0, -0.0, 0.1, 2**63 - 1, -2**63, 2**53 + 1, float(2**53), float(2**53 + 2), 5e-324, 1.7976931348623157e308, 1e-5, 0.0001, 1e15,
          float("inf"), float("-inf"), None, "", "a", "1", "1.0", "x\0y", "\u007f\u2028\ufeff\U0001f680", "\"\\/\b\f\n\r\t\x01", b"", b"\0\xff", "{\"a\": [1,\n 2]}"]


def odd(place):
    place.sql("app.db", ODD)
    place.sql("app.db", "INSERT INTO odd(v) VALUES(?)", [(value,) for value in VALUES])
    place.sql("app.db", "INSERT INTO strictly(id, any) VALUES(?, ?)", list(enumerate(VALUES)))
    keys = [1, 1.5, -1, -1.5, 0, 2**53 + 1, 2**63 - 1, -2**63, 1e300, -1e300, 0.1, "", "a", "b\0c", "Ä", b"", b"\0", b"\0\0", 5e-324, 1e19, 2.0**62]
    place.sql("app.db", "INSERT INTO pair VALUES(?, ?, ?, ?)", [(k, t, i, i) for i, k in enumerate(keys) for t in ("x", "", "X", "x ")])
    place.sql("app.db", "INSERT INTO folded VALUES(?, ?)", [("Ann", 1), ("bob", "2x"), ("B\0C", 2.5), ("ÄZ", None), ("äz", 3), ("[", 1), ("_", 1), ("A", 1)])
    place.sql("app.db", "INSERT INTO trimmed VALUES(?, ?, ?)", [("a ", 1, 1), ("a  ", 2, "t"), ("", 3, None), ("  b", 4, b"4"), ("a\0 ", 5, 0.5)])


class Case(unittest.TestCase):
    def same(self, version, table, database, own=None, columns="*"):
        names, expected = dump(database, own or table, columns)
        rows = list(version.rows(table))
        self.assertEqual(sorted(map(kinds, rows)), expected, table)
        if rows:
            self.assertEqual(list(rows[0]), names)
        return rows

    def whole(self, version, database, rowids=()):
        """Compares all tables, each row by its key, and the database that `write_sqlite` makes."""
        path = database + f".{version.number}.copy"
        version.write_sqlite(path)
        for name in version.tables():
            own = version.table(name).description.table if version.table(name).description else name
            rows = self.same(version, name, database, own, "rowid, *" if name in rowids else "*")
            for row in rows[:40]:
                found = version.row(name, tuple(row[column] for column in version.table(name).key))
                self.assertEqual(kinds(found), kinds(row))
            self.assertEqual(dump(path, own), dump(database, own), name)
        os.remove(path)


class Plain(Case):
    @classmethod
    def setUpClass(cls):
        cls.place = Place()
        odd(cls.place)
        cls.place.init("app.db")
        cls.place.sync("app.db")
        cls.zone = cls.place.zone()

    def test_every_value_is_that_of_the_database(self):
        version = self.zone.version()
        self.assertEqual(len(version.tables()), 10)
        self.whole(version, self.place.path("app.db"), rowids=("nokey",))

    def test_a_key_that_is_not_there(self):
        version = self.zone.version()
        self.assertIsNone(version.row("odd", 10**6))
        self.assertIsNone(version.row("empty", "x"))
        self.assertEqual(version.row("folded", "ANN")["k"], "Ann")
        self.assertEqual(version.row("trimmed", ("a", 1.0))["k"], "a ")

    def test_csv(self):
        text = io.StringIO()
        self.zone.version().write_csv("folded", text)
        self.assertIn('"Ann",1\n', text.getvalue())
        self.assertIn('"bob","2x"\n', text.getvalue())

    def test_the_structure_of_the_copy(self):
        path = self.place.path("structure.db")
        self.zone.version().write_sqlite(path)
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA foreign_keys = 1")
        connection.execute("DELETE FROM parent WHERE id = 'p1'")
        self.assertEqual(connection.execute("SELECT count(*) FROM child").fetchone(), (2,))
        self.assertRaises(sqlite3.IntegrityError, connection.execute, "INSERT INTO folded VALUES('aNN', 1)")
        self.assertEqual(connection.execute("INSERT INTO strictly(id) VALUES(-5) RETURNING t").fetchone(), ("it's",))
        connection.close()

    def test_the_command_line(self):
        for arguments, expected in [(["versions"], b"1 "), ([], b"folded\t8\n"), (["rows", "odd", "--at", "1"], b'{"id":1,"v":{"textBase64":"/0E="}}')]:
            done = subprocess.run([sys.executable, "-m", "snapsync_reader", self.place.cloud, *arguments], cwd=os.path.join(HERE, "python"), capture_output=True)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertIn(expected, done.stdout)
        done = subprocess.run([sys.executable, "-m", "snapsync_reader", self.place.cloud, "--at", "9"], cwd=os.path.join(HERE, "python"), capture_output=True)
        self.assertEqual(done.returncode, 1)

    def test_over_http(self):
        with serve(self.place.cloud) as address:
            version = reader.Zone(address, zone=ZONE).version()
            self.whole(version, self.place.path("app.db"), rowids=("nokey",))
            zone = reader.Zone(f"{address}/{ZONE}")
            self.assertEqual(zone.version().number, 1)


class serve:
    """A web server for a folder, as `python3 -m http.server` runs it. With `listing=False` it lists no folders."""

    def __init__(self, folder, listing=True):
        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *arguments):
                pass

            def list_directory(self, path):
                return super().list_directory(path) if listing else self.send_error(404)

        Handler.extensions_map = {**Handler.extensions_map, ".js": "text/javascript"}
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
        self.server.handle_error = lambda *_: None  # a reader that has found damage closes the connection

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def history(place, options=(), count=5):
    """A zone with change assets: a table of more than 1 MiB and a small one. Returns the databases of each version."""
    rng = random.Random(7)
    place.sql("app.db", "CREATE TABLE big(id TEXT PRIMARY KEY, body BLOB, n, t TEXT) ; CREATE TABLE small(a INTEGER, b, c, PRIMARY KEY(a, b))")
    place.sql("app.db", "INSERT INTO big VALUES(?, ?, ?, ?)", [(f"k{i:02}", rng.randbytes(36_000), i, None) for i in range(30)])
    place.sql("app.db", "INSERT INTO small VALUES(?, ?, ?)", [(i, "x", i / 3) for i in range(20)])
    place.init("app.db", *options)
    place.sync("app.db")
    kept = [place.path("version1.db")]
    shutil.copy(place.path("app.db"), kept[0])
    steps = ["UPDATE big SET n = 1.0, t = 'x' WHERE id < 'k03'; DELETE FROM big WHERE id = 'k05'; INSERT INTO big VALUES('a', NULL, x'00', CAST(x'ff' AS TEXT)), ('z', 1, 2, 3)",
             "UPDATE big SET t = NULL WHERE id = 'k01'; UPDATE big SET n = 1 WHERE id = 'k01'; UPDATE big SET body = 'text' WHERE id = 'a'; DELETE FROM small WHERE a = 3",
             "DELETE FROM big WHERE id = 'a'; INSERT INTO big VALUES('k05', 5, 5, 5); UPDATE big SET n = NULL WHERE id = 'z'",
             "UPDATE big SET n = n + 1 WHERE id IN ('z', 'k05', 'k29'); UPDATE small SET c = NULL"]
    for number, step in enumerate(steps[:count - 1], 2):
        place.sql("app.db", step)
        place.sync("app.db")
        kept.append(place.path(f"version{number}.db"))
        shutil.copy(place.path("app.db"), kept[-1])
    return kept


class Damages(Case):
    """What every damaged zone must do: end with an error, or give the same rows."""

    def damage(self, place, read):
        """Damages each file in six ways, and calls `read`, which raises ZoneError or returns what it has read."""
        expected, errors = read(), 0
        names = place.files()
        last = max(name for name in names if "/commits/" in name)
        for at, name in enumerate(names):
            path = os.path.join(place.cloud, name)
            other = os.path.join(place.cloud, names[(at + 1) % len(names)])
            with open(path, "rb") as file:
                data = file.read()
            with open(other, "rb") as file:
                exchanged = file.read()
            middle = len(data) // 2
            forms = {"flipped": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1:], "last flipped": data[:-1] + bytes([data[-1] ^ 1]),
                     "truncated": data[:-1], "longer": data + b"\0", "removed": None, "exchanged": exchanged}
            for form, bad in forms.items():
                if bad is None:
                    os.rename(path, path + ".away")
                else:
                    with open(path, "wb") as file:
                        file.write(bad)
                try:
                    found = read()
                except reader.ZoneError as error:
                    errors += 1
                    self.assertTrue(error.path or error.reason, name)
                else:
                    if bad is None and name == last:  # nothing states that there was a newer commit
                        self.assertEqual(found[0], expected[0][:-1])
                    elif found != expected:
                        self.fail(f"{form}: {name} changes what is read")
                finally:
                    if bad is None:
                        os.rename(path + ".away", path)
                    else:
                        with open(path, "wb") as file:
                            file.write(data)
        return errors, len(names)

    def all(self, number=None, **options):
        def read():
            zone = self.place.zone(**options)
            versions = zone.versions()
            version = zone.version(number)
            rows = {name: ([kinds(row) for row in version.rows(name)], [kinds(row) for row in version.held(name)]) for name in version.tables()}
            return [v["number"] for v in versions], rows
        return read


class WithChanges(Damages):
    @classmethod
    def setUpClass(cls):
        cls.place = Place()
        cls.kept = history(cls.place)

    def test_versions_are_the_databases_of_their_time(self):
        zone = self.place.zone()
        self.assertEqual([version["number"] for version in zone.versions()], [1, 2, 3, 4, 5])
        self.assertEqual(len(zone.version().table("big").files), 4)
        for number, database in enumerate(self.kept, 1):
            self.whole(zone.version(number), database)

    def test_damage(self):
        errors, files = self.damage(self.place, self.all())
        self.assertGreater(errors, files * 3)

    def test_an_older_version_needs_no_later_commit(self):
        last = os.path.join(self.place.cloud, ZONE, "commits/00000000000000000005.json")
        with open(last, "rb") as file:
            data = file.read()
        with open(last, "wb") as file:
            file.write(data[:-1])
        try:
            self.whole(self.place.zone().version(4), self.kept[3])
        finally:
            with open(last, "wb") as file:
                file.write(data)

    def test_without_a_listing(self):
        with serve(self.place.cloud, listing=False) as address:
            self.assertEqual(reader.Zone(address, zone=ZONE).version().number, 5)

    def test_a_link_is_not_followed(self):
        path = os.path.join(self.place.cloud, ZONE, "commits/00000000000000000005.json")
        os.rename(path, path + ".away")
        os.symlink(path + ".away", path)
        try:
            self.assertRaises(reader.Damaged, self.place.zone().version)
        finally:
            os.rename(path + ".away", path)


class Pruned(Case):
    def test_checkpoints_and_pins(self):
        place = Place()
        place.sql("app.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
        place.init("app.db")
        for number in range(1, 21):
            place.sql("app.db", f"INSERT INTO t(v) VALUES('{number}')")
            place.sync("app.db")
            if number == 3:
                place.run("pin", "app.db", "3")
        for name in place.files():
            os.utime(os.path.join(place.cloud, name), (1, 1))
        place.run("prune", "app.db", "--keep-last", "2")
        zone = place.zone()
        numbers = [version["number"] for version in zone.versions()]
        self.assertEqual(numbers[0], 3)
        self.assertGreater(numbers[1], 15)
        self.assertEqual([row["v"] for row in zone.version(3).rows("t")], ["1", "2", "3"])
        self.assertEqual(len(list(zone.version(numbers[-2]).rows("t"))), zone.version(numbers[-2]).table("t").count)
        self.whole(zone.version(), place.path("app.db"))
        self.assertRaises(reader.ZoneError, zone.version, 5)


class Peers(Damages):
    @classmethod
    def setUpClass(cls):
        cls.place = place = Place()
        place.sql("desk.db", "CREATE TABLE author(id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE, born); INSERT INTO author VALUES('a', 'Ada', 1815)")
        place.init("desk.db", "--peers", "--sign")
        place.sync("desk.db")
        place.join("lap.db", "--peer")
        place.sync("lap.db")
        place.run("zone", "approve", "desk.db", "lap", "--yes")
        place.sync("lap.db")
        place.sql("lap.db", "INSERT INTO author VALUES('b', 'Edsger', 1930)")
        place.sql("desk.db", "INSERT INTO author VALUES('c', 'Edsger', '1930')")
        place.sync("lap.db")
        place.sync("desk.db")

    def test_a_held_row(self):
        version = self.place.zone().version()
        self.same(version, "author", self.place.path("desk.db"))
        self.assertEqual(version.held("author"), [{"id": "c", "name": "Edsger", "born": "1930"}])
        self.assertIsNone(version.row("author", "c"))

    @unittest.skipUnless(ENCRYPTION, "needs PyPI's cryptography")
    def test_damage_and_signatures(self):
        zone = self.place.zone()
        self.assertEqual(zone.signatures, "verified")
        self.assertEqual(self.place.zone(trust=zone.creator).version().number, zone.version().number)
        self.assertRaises(reader.Untrusted, self.place.zone(trust="-".join(["babab"] * 8)).version)
        self.damage(self.place, self.all(trust=zone.creator))

    def test_without_cryptography(self):
        with mock.patch.object(commits, "ed25519", lambda: None), mock.patch("snapsync_reader.zone.ed25519", lambda: None):
            zone = self.place.zone()
            self.assertEqual(zone.signatures, "not verified")
            self.same(zone.version(), "author", self.place.path("desk.db"))

    @unittest.skipUnless(ENCRYPTION, "needs PyPI's cryptography")
    def test_a_commit_that_another_key_has_signed(self):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        last = sorted(glob.glob(os.path.join(self.place.cloud, ZONE, "commits/*")))[-1]
        with open(last, "rb") as file:
            data = file.read()
        body, key = data[10:-220], Ed25519PrivateKey.generate()
        stated = json.loads(body)["key"].encode()
        for forged in (body.replace(stated, key.public_key().public_bytes_raw().hex().encode()), body):
            with open(last, "wb") as file:
                hashed = __import__("hashlib").sha256(forged).hexdigest()
                file.write(b'{"commit":' + forged + f',"sha256":"{hashed}","signature":"{key.sign(b"snapsync-commit 1" + bytes([10]) + forged).hex()}"}}'.encode())
            try:
                self.assertRaises(reader.Untrusted, self.place.zone().version)
            finally:
                with open(last, "wb") as file:
                    file.write(data)


@unittest.skipUnless(ENCRYPTION, "needs PyPI's cryptography")
class Sealed(Damages):
    def check(self, *options):
        self.place = Place()
        kept = history(self.place, ("--encrypt", *options), count=3)
        self.place.run("zone", "rotate-keys", "app.db")
        self.place.sql("app.db", "UPDATE big SET n = 'later' WHERE id > 'k20'")
        self.place.sync("app.db")
        zone = self.place.zone(key=self.place.key("app"))
        for number, database in enumerate(kept, 1):
            self.whole(zone.version(number), database)
        self.whole(zone.version(), self.place.path("app.db"))
        self.assertRaises(reader.Locked, self.place.zone)
        other = reader.Zone(self.place.cloud, zone=ZONE, key=json.dumps(dict(json.loads(self.place.key("app")), sealingSeed="01" * 32)))
        self.assertRaises(reader.Locked, other.version)

    def test_sealed_and_damaged(self):
        self.check()
        self.damage(self.place, self.all(key=self.place.key("app")))

    def test_padded_with_keys_of_x_wing(self):
        self.check("--padded", "--post-quantum")


    def test_a_member_that_is_added_and_removed(self):
        self.place = place = Place()
        place.sql("app.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1, 1)")
        place.init("app.db", "--encrypt")
        place.sync("app.db")
        place.join("phone.db", expect=75)
        place.run("zone", "approve", "app.db", "phone", "--yes")
        place.run("zone", "revoke", "app.db", "phone")
        place.sql("app.db", "INSERT INTO t VALUES(2, 2)")
        place.sync("app.db")
        with open(place.path("passphrase"), "w", opener=functools.partial(os.open, mode=0o600)) as file:
            file.write("a long passphrase\n")
        place.run("zone", "passphrase", "app.db", "--new-file", "passphrase")
        removed, own = place.zone(key=place.key("phone")), place.zone(key=place.key("app"), passphrase="a long passphrase")
        newest = own.version()
        self.assertEqual([len(list(zone.version(n).rows("t"))) for zone, n in [(own, newest.number), (own, 1), (removed, 1)]], [2, 1, 1])
        self.assertRaises(reader.Locked, removed.version)
        self.assertRaises(reader.Locked, place.zone, key=place.key("app"), passphrase="another passphrase")


class Moved(Case):
    def test_a_zone_that_continues_as_a_signed_one(self):
        place = Place()
        place.sql("app.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1, 1)")
        place.init("app.db")
        place.sync("app.db")
        place.run("zone", "sign", "app.db")
        with self.assertRaisesRegex(reader.Ended, "main-signed"):
            place.zone().version()
        self.assertEqual(len(list(place.zone().version(1).rows("t"))), 1)
        self.whole(place.zone(zone="main-signed").version(), place.path("app.db"))


class BuiltIn(Case):
    def test_the_built_in_containers(self):
        place = Place()
        place.run("generate", "phone.db", "--notifications", "50", "--buckets", "3", "--seed", "7")
        place.init("phone.db", "--built-in")
        place.sync("phone.db")
        version = place.zone(zone=BUILT_IN).version()
        for name in ("buckets", "notifications"):
            self.same(version, name, place.path("phone.db"), columns=", ".join(f'"{c}"' for c in version.table(name).columns))
        version.write_sqlite(place.path("copy.db"))
        self.assertEqual(len(dump(place.path("copy.db"), "notifications")[1]), 50)

    def test_typed_columns(self):
        place = Place()
        place.sql("app.db", "CREATE TABLE t(id BLOB PRIMARY KEY, r, b, j, x); CREATE TABLE f(k INTEGER PRIMARY KEY, v)")
        place.sql("app.db", "INSERT INTO t VALUES(?, ?, ?, ?, ?)", [(b"\0", 1, 1, '{"a": [1,\n{"id":2}]}', b"x"), (b"\1", -0.0, 0, " null ", None), (b"", 1e300, 1, '"\\ud800"', b"")])
        place.sql("app.db", "INSERT INTO f VALUES(0, 'no'), (1, 'yes')")
        columns = [{"name": "key", "column": "id", "type": "blob"}, {"name": "r", "type": "real"}, {"name": "b", "type": "boolean"},
                   {"name": "j", "type": "json"}, {"name": "x", "type": "blob", "optional": True}]
        flags = [{"name": "k", "type": "boolean"}, {"name": "v", "type": "text"}]
        with open(place.path("datasets.json"), "w") as file:
            json.dump({"formatVersion": 1, "datasets": [{"name": "things", "table": "t", "key": "key", "columns": columns}, {"name": "f", "key": "k", "columns": flags}]}, file)
        place.init("app.db", "--datasets", "datasets.json")
        place.sync("app.db")
        version = place.zone().version()
        self.assertEqual(sorted(map(kinds, version.rows("things"))), dump(place.path("app.db"), "t")[1])
        self.assertEqual(sorted(map(kinds, version.rows("f"))), dump(place.path("app.db"), "f")[1])
        self.assertEqual(version.row("f", 1), {"k": 1, "v": "yes"})
        version.write_sqlite(place.path("copy.db"))
        self.assertEqual(dump(place.path("copy.db"), "t"), dump(place.path("app.db"), "t"))


NODE = """
import { readFileSync, writeFileSync, renameSync } from "node:fs";
import { Zone, ZoneError, RawText } from "READER";

const hex = bytes => Buffer.from(bytes).toString("hex");
const real = value => { const bytes = Buffer.alloc(8); bytes.writeDoubleBE(value); return hex(bytes); };
function cell(value) {
  if (value === null) return ["null", ""];
  if (typeof value === "bigint") return ["integer", hex(Buffer.from(String(value)))];
  if (typeof value === "number") return ["real", real(value)];
  if (typeof value === "string") return ["text", hex(Buffer.from(value))];
  return [value instanceof RawText ? "text" : "blob", hex(value.bytes ?? value)];
}
async function read(address, at, newest) {
  const zone = await Zone.open(address, { zone: zoneName, newest }), versions = (await zone.versions()).map(one => one.number), tables = {};
  const version = await zone.version(at);
  for (const name of version.tables()) {
    tables[name] = [];
    for await (const row of version.rows(name)) tables[name].push(Object.values(row).map(cell));
  }
  return { versions, tables };
}
const [address, zoneName, action, folder, ...files] = process.argv.slice(1);
if (action === "read") console.log(JSON.stringify(await read(address, folder ? Number(folder) : undefined)));
else {
  const expected = JSON.stringify(await read(address)), last = files.filter(name => name.includes("/commits/")).sort().pop();
  let errors = 0;
  for (const [at, name] of files.entries()) {
    const path = folder + "/" + name, data = readFileSync(path), flipped = Buffer.from(data);
    flipped[data.length >> 1] ^= 1;
    const forms = [flipped, data.subarray(0, -1), null, readFileSync(folder + "/" + files[(at + 1) % files.length])];
    for (const bad of forms) {
      if (bad) writeFileSync(path, bad); else renameSync(path, path + ".away");
      try {
        const found = JSON.stringify(await read(address));
        if (found !== expected && (bad || name !== last)) throw new Error("damage of " + name + " changes what is read");
      } catch (error) {
        if (!(error instanceof ZoneError)) throw error;
        errors++;
      } finally {
        if (bad) writeFileSync(path, data); else renameSync(path + ".away", path);
      }
    }
  }
  console.log(errors);
}
""".replace("READER", os.path.join(HERE, "javascript/snapsync-reader.js"))


@unittest.skipUnless(shutil.which("node"), "needs Node")
class JavaScript(Case):
    def node(self, *arguments):
        done = subprocess.run(["node", "--input-type=module", "-e", NODE, *arguments], capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return json.loads(done.stdout)

    def matches(self, place, listing=True, number=None, zone=ZONE):
        with serve(place.cloud, listing) as address:
            found = self.node(address, zone, "read", *([str(number)] if number else []))
        version = place.zone(zone).version(number)
        for name in version.tables():
            rows = [tuple((kind, bytes.fromhex(data)) for kind, data in row) for row in found["tables"][name]]
            self.assertEqual(rows, [kinds(row) for row in version.rows(name)], name)
        return found

    def test_every_value_is_that_of_the_database(self):
        place = Place()
        odd(place)
        place.init("app.db")
        place.sync("app.db")
        self.assertEqual(len(self.matches(place)["tables"]), 10)

    def test_versions_with_changes_and_damage(self):
        place = Place()
        history(place, count=4)
        self.matches(place, number=1)
        self.assertEqual(self.matches(place, listing=False)["versions"], [1, 2, 3, 4])
        files = [name for name in place.files() if "/devices/" not in name]
        with serve(place.cloud) as address:
            self.assertGreater(self.node(address, ZONE, "damage", place.cloud, *files), len(files) * 2)

    def test_typed_columns(self):
        place = Place()
        place.run("generate", "phone.db", "--notifications", "50", "--buckets", "3", "--seed", "7")
        place.init("phone.db", "--built-in")
        place.sync("phone.db")
        self.matches(place, zone=BUILT_IN)


@unittest.skipUnless(os.environ.get("SNAPSYNC_BROWSER"), "needs SNAPSYNC_BROWSER=1 and Chromium")
class Browser(Case):
    def test_the_table_page(self):
        sys.path.insert(0, os.path.join(HERE, "../../Tests/Page"))
        import chromium

        place = Place()
        place.sql("app.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, x)")
        place.sql("app.db", "INSERT INTO t VALUES(?, ?, ?)", [(i, f"<b>row {i}</b>", [None, b"ab", 1.0, i][i % 4]) for i in range(1, 251)])
        place.init("app.db")
        place.sync("app.db")
        place.sql("app.db", "DELETE FROM t WHERE id > 3")
        place.run("sync", "app.db", "--allow-shrink", "t")
        for name in ("table.html", "snapsync-reader.js"):
            shutil.copy(os.path.join(HERE, "javascript", name), place.folder)
        with serve(place.folder) as address, chromium.chromium() as driver:
            def shown(until):
                read = "return [document.querySelector('p').textContent, [...document.querySelectorAll('tbody tr')].map(r => [...r.cells].map(c => c.textContent))]"
                for _ in range(200):
                    status, rows = driver.execute_script(read)
                    if until in status: return rows
                    time.sleep(0.05)
                self.fail(status)

            def choose(version):
                driver.execute_script("f = document.forms[0]; f.version.value = arguments[0]; f.dispatchEvent(new Event('change'))", version)

            driver.get(address + "/table.html")
            self.assertEqual(shown("3 rows, all checked"), [["1", "<b>row 1</b>", "2 bytes"], ["2", "<b>row 2</b>", "1.0"], ["3", "<b>row 3</b>", "3"]])
            choose("1")
            self.assertEqual(len(shown("The first 100 rows")), 100)
            for count in ("200 rows", "250 rows, all checked"):
                driver.execute_script("document.querySelector('button').click()")
                rows = shown(count)
            self.assertEqual(rows[249], ["250", "<b>row 250</b>", "1.0"])
            asset, = glob.glob(f"{place.cloud}/private/main/assets/t_data/*1-*.json.gz")
            with open(asset, "r+b") as file:
                os.chmod(asset, 0o600)
                file.seek(300)
                file.write(b"damaged")
            driver.get(address + "/table.html")
            shown("3 rows, all checked")
            choose("1")
            self.assertEqual(shown("This table cannot be shown."), [])
            self.assertFalse([one for one in driver.get_log("browser") if "favicon" not in one["message"]])


class Wheel(Case):
    def test_the_wheel_can_be_installed(self):
        place = Place()
        place.sql("app.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO t VALUES(1, 'one')")
        place.init("app.db")
        place.sync("app.db")
        subprocess.run([os.path.join(HERE, "../../Scripts/package.sh"), "wheel", place.folder], check=True, stdout=subprocess.DEVNULL)
        wheel, = glob.glob(place.path("*.whl"))
        subprocess.run([sys.executable, "-m", "venv", place.path("environment")], check=True)
        python = place.path("environment/bin/python3")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel], check=True, cwd=place.folder)
        done = subprocess.run([python, "-m", "snapsync_reader", place.cloud, "rows", "t"], check=True, cwd=place.folder, capture_output=True, text=True)
        self.assertIn("one", done.stdout)


if __name__ == "__main__":
    unittest.main()
