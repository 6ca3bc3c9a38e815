"""What a forger changes in a zone (zone.py): one thing, at the level of meaning. Each function takes the zone and a random.Random."""
import copy, json

from zone import Asset, sha, text

# Texts that are SQL, markup, a shell's or a terminal's commands, places of other files, or names that others have.
TEXTS = [
    "", " ", "a'b", 'a"b', "a`b", "a;b", "a\nb", "\x1b]0;owned\x07", "\x9b2J", "a\u202eb\u2066", "e\u0301", '"\u0301; DROP TABLE canary; --', "'\u0301; DROP TABLE canary; --",
    '"); DROP TABLE canary; --', "'); ATTACH 'outside.db' AS o; --", "<script>owned()</script>", "\"><img src=x onerror=owned()>", "</pre></style><b>", "&lt;&#60;", "../../outside",
    "/etc/passwd", "..", ".", "$(owned)", "`owned`", "'; owned; '", "\n owned\n", "--help", "-n", "canary", "main.canary", "temp.canary", "sqlite_schema", "sqlite_sequence",
    "snapsync_settings", "snapsync_log", "rowid", "oid", "_rowid_", "\0", "a\0b", "x" * 129, "y" * 70_000, "\U000e0041", "\u2028", "\u0085", "%s%n%@", "notes", "NOTES", "Notes\u0301",
    "\u0130", "\ufb01", "id", "ID", "people", "deletedAt", "syncTimestamp", "\ufeff", "\uffff", "\U0010ffff", "NULL", "DEFAULT", "1e999", "constructor", "__proto__",
]
NUMBERS = [0, -1, 1, 2, 255, 256, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 10**30, 0.5, -0.0, 1e308, 5e-324]
INSTANTS = [
    "0001-01-01T00:00:00.000Z", "1969-12-31T23:59:59.999Z", "1999-12-31T23:59:59.999Z", "2026-01-01T00:00:00.000Z", "2099-12-31T23:59:59.999999Z", "2100-01-01T00:00:00.000Z",
    "9999-12-31T23:59:59.999Z", "2026-02-30T00:00:00.000Z", "2026-01-01T00:00:00Z", "now", "\x1b[2J",
]
DATASETS = ("people", "notes", "pairs")


def odd(random, like=None):
    """A value that is odd in the place of one like this."""
    if isinstance(like, str) and like[4:5] == "-" and like.endswith("Z") and random.random() < 0.7: return random.choice(INSTANTS)
    if isinstance(like, bool) and random.random() < 0.7: return not like
    if isinstance(like, (int, float)) and random.random() < 0.7: return random.choice(NUMBERS)
    if isinstance(like, str) and random.random() < 0.8: return random.choice([random.choice(TEXTS), like + random.choice(TEXTS), like.swapcase()])
    return random.choice([random.choice(TEXTS), random.choice(NUMBERS), random.choice(INSTANTS), None, True, [], {}, [random.choice(TEXTS)] * random.randrange(1, 3), {random.choice(TEXTS): 1}])


def places(tree, found=None):
    """Every dictionary and list in a tree."""
    found = [] if found is None else found
    if isinstance(tree, (dict, list)) and tree:
        found.append(tree)
        for one in tree.values() if isinstance(tree, dict) else tree: places(one, found)
    return found


def disturb(tree, random, spared=()):
    """Changes one value somewhere in a tree, takes one out, doubles or moves one, or gives one another name."""
    spots = [(one, key) for one in places(tree) for key in (one if isinstance(one, dict) else range(len(one))) if key not in spared]
    if not spots: return
    place, key = random.choice(spots)
    act = random.choice(["odd", "odd", "odd", "out", "double", "other", "name"])
    if act == "out": del place[key]
    elif act == "other": place[key] = copy.deepcopy(random.choice(spots)[0])
    elif act == "double" and isinstance(place, list): place.insert(random.randrange(len(place) + 1), copy.deepcopy(place[key]))
    elif act == "name" and isinstance(place, dict): place[random.choice(TEXTS)] = place.pop(key)
    else: place[key] = odd(random, place[key])


def field(value):
    kind = "boolean" if isinstance(value, bool) else "integer" if isinstance(value, int) else "string"
    return dict(type=kind, value=value if kind != "string" else str(value))


def dataset(random): return random.choice(DATASETS)


def data(zone, name): return zone.record(name + "_data")


def documented(zone, record, name, change):
    """Changes the JSON document in a record's field."""
    record = zone.record(record)
    document = json.loads(record["fields"][name]["value"])
    document = change(document) or document
    record["fields"][name]["value"] = text(document)


# Descriptions.

def description(zone, random):
    def change(d):
        structure, columns = d["structure"], d["structure"]["columns"]
        one, other = random.choice(columns), random.choice(columns)
        act = random.randrange(18)
        if act == 0: d["dataset"]["table"] = random.choice(TEXTS)
        elif act == 1:
            new, old = random.choice(TEXTS), one["column"]
            for column in d["dataset"]["columns"]:
                if column.get("column", column["name"]) == old: column["column"] = new
            d["structure"] = json.loads(json.dumps(structure).replace(json.dumps(old), json.dumps(new)))
        elif act == 2: one["collation"] = random.choice(["binary", "nocase", "rtrim", odd(random, "")])
        elif act == 3: one["declared"] = random.choice(["integer", "int", "text", "real", "blob", "numeric", "json", "any", "untyped", "datetime", odd(random, "")])
        elif act == 4: one["notNull"] = not one["notNull"]
        elif act == 5: one["default"] = random.choice([{"text": random.choice(TEXTS)}, {"integer": random.choice(NUMBERS)}, {"real": "Infinity"}, {"base64": "eA=="}, {"current": "time"}, {"sql": "(1)"}, odd(random)])
        elif act == 6: structure["primaryKey"] = random.choice([[], [one["column"]], [one["column"], other["column"]], [random.choice(TEXTS)]])
        elif act == 7:
            reference = dict(columns=[one["column"]], parent=random.choice(DATASETS + ("canary", random.choice(TEXTS))), parentColumns=[random.choice(["id", "a", "name", random.choice(TEXTS)])],
                             onDelete=random.choice(["cascade", "setNull", "setDefault", "restrict", "noAction"]), onUpdate=random.choice(["cascade", "noAction", "setDefault"]))
            structure["references"] += [reference] * random.choice([1, 1, 2, 1001])
        elif act == 8: structure["unique"] += [dict(columns=[one["column"]], collations=["nocase"])] * random.choice([1, 1001])
        elif act == 9: structure[random.choice(["withoutRowid", "strict", "autoincrement"])] ^= True
        elif act == 10: d["dataset"]["key"] = random.choice([one["column"], "rowid", [one["column"], other["column"]], random.choice(TEXTS)])
        elif act == 11: d["dataset"]["messages"] = random.choice([{}, {"rows": True}, {"patch": [one["column"]], "delete": True}, {"patch": [random.choice(TEXTS)] * 65}, {"rows": True, "patch": ["id"]}])
        elif act == 12: d["dataset"]["timestamp"] = random.choice([one["column"], random.choice(TEXTS)])
        elif act == 13:
            name = random.choice(TEXTS + ["more"])
            columns.append(dict(column=name, declared="text", notNull=random.random() < 0.3, collation="binary"))
            d["dataset"]["columns"].append(dict(name=name))
        elif act == 14:
            columns.remove(one)
            d["dataset"]["columns"] = [c for c in d["dataset"]["columns"] if c["name"] != one["column"]]
        elif act == 15: d["dataset"][random.choice(["recordName", "recordType", "name"])] = random.choice(TEXTS + ["people_data", "schema.sql", "snapshot_members", "table.people"])
        elif act == 16: d["formatVersion"] = random.choice(NUMBERS)
        else: disturb(d, random)
    documented(zone, "table." + dataset(random), "description", change)


def further(zone, random):
    """A dataset more, under a name of the forger's, with rows: its table is perhaps one that is the device's own."""
    table = random.choice(["canary", "Canary", "untouched", "further", "snapsync_settings", "sqlite_sequence", "named", random.choice(TEXTS)])
    name, like = random.choice(["more", "canary", "more"]), data(zone, "pairs")
    number = zone.newest["number"]
    old = zone.asset(like)
    asset = Asset("assets/%s_data/%020d-%08x" % (name, number, random.getrandbits(32)), dict(old.index, dataset=name, key="id", columns=[dict(name="id"), dict(name="v")]),
                  {"syncTimestamp": old.timestamp, name: [{"id": 1, "v": "forged"}, {"id": 2, "v": "forged"}]})
    zone.assets[asset.path] = asset
    record = copy.deepcopy(like)
    record.update(name=name + "_data", type="MoreData")
    record["fields"]["dataFile"]["value"]["path"] = asset.path
    structure = dict(autoincrement=False, primaryKey=["id"], references=[], strict=False, unique=[], withoutRowid=False, columns=[
        dict(collation="binary", column="id", declared="integer", notNull=False), dict(collation="binary", column="v", declared="text", notNull=False)])
    if random.random() < 0.3:
        structure["references"] = [dict(columns=["v"], parent=random.choice(DATASETS), parentColumns=["id"], onDelete="cascade", onUpdate="cascade")]
    d = dict(formatVersion=1, structure=structure, dataset=dict(name=name, table=table, key="id", columns=[dict(name="id"), dict(name="v")], recordName=name + "_data", recordType="MoreData"))
    zone.newest["saved"] += [record, dict(name="table." + name, type="SnapshotPin", fields=dict(description=field(text(d))))]


# SQL text.

SQL = [
    ("trigger", "r", "CREATE TRIGGER r AFTER INSERT ON notes BEGIN DELETE FROM canary; END"), ("trigger", "r", "CREATE TRIGGER r AFTER INSERT ON notes BEGIN UPDATE sqlite_sequence SET seq = 0; END"),
    ("trigger", "r", "CREATE TRIGGER r AFTER INSERT ON notes BEGIN DELETE FROM snapsync_settings; END"), ("trigger", "r", "CREATE TRIGGER r BEFORE INSERT ON canary BEGIN SELECT RAISE(IGNORE); END"),
    ("trigger", "r", "CREATE TEMP TRIGGER r AFTER INSERT ON notes BEGIN DELETE FROM canary; END"), ("trigger", "r", "CREATE TRIGGER r AFTER INSERT ON notes BEGIN DELETE FROM people; END"),
    ("trigger", "r", "CREATE TRIGGER r AFTER UPDATE ON notes BEGIN UPDATE notes SET title = title || 'x' WHERE id <> new.id; END"),
    ("trigger", "canary_guard", "CREATE TRIGGER canary_guard BEFORE UPDATE ON notes BEGIN SELECT 1; END"), ("trigger", "r", "CREATE TRIGGER r AFTER INSERT ON notes BEGIN SELECT load_extension('x'); END"),
    ("trigger", "r", "CREATE TRIGGER r INSTEAD OF INSERT ON named BEGIN DELETE FROM people; END"), ("trigger", "r", "CREATE TRIGGER r AFTER INSERT ON notes BEGIN SELECT RAISE(ROLLBACK, '\x1b[2J'); END"),
    ("trigger", "r", "CREATE TRIGGER r AFTER INSERT ON notes BEGIN SELECT RAISE(IGNORE); END"),
    ("view", "canary", "CREATE VIEW canary AS SELECT 1"), ("view", "v", "CREATE VIEW v AS SELECT * FROM canary"), ("view", "v", "CREATE VIEW v AS SELECT * FROM pragma_database_list"),
    ("view", "pragma_table_info", "CREATE VIEW pragma_table_info AS SELECT 1"), ("view", "v", "CREATE VIEW v AS SELECT readfile('/etc/passwd')"), ("view", "v", "CREATE VIEW v AS SELECT fts3_tokenizer('x', x'00')"),
    ("view", "v", "CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"), ("view", "v", "CREATE VIEW v AS SELECT '<script>owned()</script>\x1b[2J'"),
    ("index", "i", "CREATE INDEX i ON canary(v)"), ("index", "i", "CREATE UNIQUE INDEX i ON notes(title)"), ("index", "i", "CREATE INDEX i ON notes(abs(-9223372036854775808))"),
    ("index", "i", "CREATE INDEX i ON notes(title COLLATE mine)"), ("index", "i", "CREATE INDEX i ON notes(zeroblob(1000000000))"),
    ("table", "canary", "CREATE TABLE canary(id INTEGER PRIMARY KEY, v)"), ("table", "t", "CREATE TABLE t AS SELECT * FROM canary"), ("table", "t", "ATTACH 'outside.db' AS o"),
    ("table", "t", "PRAGMA writable_schema = ON"), ("table", "t", "CREATE TABLE t(v); DROP TABLE canary"), ("table", "t", "VACUUM INTO 'outside.db'"),
    ("table", "notes", "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, title TEXT CHECK(load_extension('x')), person TEXT, score REAL, body BLOB, updated_at TEXT)"),
    ("table", "notes", "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, title TEXT, person TEXT REFERENCES canary(v) ON DELETE CASCADE, score REAL, body BLOB, updated_at TEXT)"),
    ("table", "notes", "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, title TEXT, person TEXT, score REAL, body BLOB, updated_at TEXT, big AS (zeroblob(900000000)) STORED)"),
    ("table", "notes", "CREATE TABLE notes(id TEXT PRIMARY KEY ON CONFLICT REPLACE, title TEXT UNIQUE ON CONFLICT REPLACE, person TEXT, score REAL, body BLOB, updated_at TEXT DEFAULT (hex(randomblob(1000000))))"),
]


def sql(zone, random):
    def change(d):
        statements = d["statements"]
        act = random.randrange(5)
        if act == 0: disturb(d, random)
        elif act == 1: random.choice(statements)["sql"] += random.choice(TEXTS + ["; DROP TABLE canary", " -- \x1b[2J", "\n.shell owned\n"])
        else:
            kind, name, statement = random.choice(SQL)
            statements[:] = [one for one in statements if (one["type"], one["name"]) != (kind, name)]
            statements.append(dict(type=kind, name=name, sql=statement))
            if act == 4: statements[-1]["name"] = random.choice(TEXTS)
    documented(zone, "schema.sql", "text", change)


# Rows, and what an asset states of them.

def rows(zone, random):
    asset = zone.asset(data(zone, dataset(random)))
    entities = asset.entities
    one, other = random.choice(entities), random.choice(entities)
    names = [column["name"] for column in asset.index["columns"]]
    name = random.choice(names)
    act = random.randrange(9)
    values = TEXTS + NUMBERS + INSTANTS + [{"base64": "AAH/"}, {"textBase64": "/w=="}, {"real": "Infinity"}, {"real": "-Infinity"}, {"base64": "x"}, True, None, [1]]
    if act in (0, 1, 2): one[name] = random.choice(values)
    elif act == 3: one.pop(name, None)
    elif act == 4: one[name] = copy.deepcopy(other.get(name))
    elif act == 5: one[random.choice(TEXTS)] = 1
    elif act == 6: entities.append({**copy.deepcopy(one), **{key: odd(random, one.get(key)) for key in ([asset.index["key"]] if isinstance(asset.index["key"], str) else asset.index["key"])}})
    elif act == 7: entities.remove(one)
    else:
        # Only rows of the forger's: half of a large table is gone, or there are many.
        entities[:] = [dict(one, **{(asset.index["key"] if isinstance(asset.index["key"], str) else asset.index["key"][0]): "forged %06d" % n}) for n in range(random.choice([0, 1, 3000]))]
    # What the lists state of rows that are gone would be refused before anything else is seen.
    keys = [asset.key(one) for one in entities]
    for name in ("instants", "born"): asset.lists[name] = [one for one in asset.lists.get(name, []) if one.get("id") in keys]
    if "columns" in asset.lists:
        named = {name: [one for one in entries if one.get("id") in keys] for name, entries in asset.lists["columns"].items()}
        asset.lists["columns"] = {name: entries for name, entries in named.items() if entries}


def order(zone, random):
    asset = zone.asset(data(zone, dataset(random)))
    asset.is_sorted = False
    random.choice([lambda: random.shuffle(asset.entities), lambda: asset.entities.append(copy.deepcopy(random.choice(asset.entities))), asset.entities.reverse])()


def index(zone, random):
    asset = zone.asset(data(zone, dataset(random)))
    column = random.choice(asset.index["columns"])
    act = random.randrange(8)
    if act == 0: column["collation"] = random.choice(["nocase", "rtrim", "mine"])
    elif act == 1: column.update(type=random.choice(["text", "integer", "real", "boolean", "json", "blob", "x"]), optional=random.random() < 0.5)
    elif act == 2:
        new, old = random.choice(TEXTS), column["name"]
        column["name"] = new
        for entity in asset.entities:
            if old in entity: entity[new] = entity.pop(old)
        if asset.index["key"] == old: asset.index["key"] = asset.order["key"] = new
    elif act == 3: asset.index["columns"].remove(column)
    elif act == 4: asset.index["columns"] += [dict(name=random.choice(TEXTS + ["more"]))] * random.choice([1, 2, 1001])
    elif act == 5: asset.index["timestamp"] = random.choice([column["name"], random.choice(TEXTS)])
    elif act == 6: asset.index["blockEntities"] = random.choice([1, 2, 65536, 65537, 0])
    else: random.shuffle(asset.index["columns"])


def lists(zone, random):
    asset = zone.asset(data(zone, random.choice(["people", "notes", "pairs"])))
    keys = [asset.key(one) for one in asset.entities]
    some = random.sample(keys, min(len(keys), random.randrange(1, 4)))
    absent = ["absent", "\x1b[2J", 7, ["absent", 7], "<b>"][random.randrange(5)]
    if random.random() < 0.2: asset.timestamp = random.choice(["9999-12-31T23:59:59.999999Z", "2099-12-31T23:59:59.999Z"])
    at = lambda: random.choice(INSTANTS + [asset.timestamp] * 6)
    act = random.randrange(10)
    if act == 0: asset.lists["instants"] = [dict(id=key, at=at()) for key in some]
    elif act == 1: asset.lists["instants"] = [dict(id=absent, at=at())]
    elif act == 2: asset.lists["born"] = [dict(id=key, **({"at": at()} if random.random() < 0.7 else {})) for key in some]
    elif act == 3:
        name = random.choice([column["name"] for column in asset.index["columns"]] + TEXTS)
        asset.lists["columns"] = {name: [dict(id=key, **({"at": at()} if random.random() < 0.7 else {})) for key in some]}
    elif act == 4: asset.lists["deletions"] = [dict(id=random.choice([absent] + some), deletedAt=at())]
    elif act == 5: asset.lists["deletions"] = [dict(id="gone %05d" % n, deletedAt=at()) for n in range(random.choice([1, 5000]))]
    elif act in (6, 7):
        held = copy.deepcopy(random.choice(asset.entities))
        for key in [asset.index["key"]] if isinstance(asset.index["key"], str) else asset.index["key"][:1]: held[key] = random.choice(["held", "held 2", random.choice(TEXTS)])
        disturb(held, random, spared=() if act == 6 else ("id", "a"))
        asset.lists["held"] = [held] if random.random() < 0.8 else [held, held]
        if random.random() < 0.4: asset.lists["instants"] = [dict(id=asset.key(held), at=at())]
    elif act == 8: asset.lists[random.choice(["instants", "born"])] = [{"from": min(keys, key=str), "to": max(keys, key=str), "at": at()}]
    else: asset.timestamp = random.choice(INSTANTS)


def changes(zone, random):
    """A change asset: on the asset that is there, on another version, on itself, or beside a new asset."""
    name = dataset(random)
    record = data(zone, name)
    old = zone.asset(record)
    number = zone.newest["number"]
    stems = [asset.stem.rpartition("/")[2] for asset in zone.assets.values()]
    base = old.stem.rpartition("/")[2]
    one = copy.deepcopy(random.choice(old.entities))
    keys = [old.index["key"]] if isinstance(old.index["key"], str) else old.index["key"]
    for other in one:
        if other not in keys and random.random() < 0.5: one[other] = odd(random, one[other])
    partial = [{key: value for key, value in one.items() if key in keys or random.random() < 0.5}] + random.sample([c["name"] for c in old.index["columns"]] + TEXTS, random.randrange(1, 3))
    entity = random.choice([one, partial, [{key: "absent" for key in keys}, "title"], {**one, keys[0]: random.choice(TEXTS)}])
    container = {"syncTimestamp": random.choice([record["fields"]["syncTimestamp"]["value"]] * 3 + INSTANTS), "after": random.choice([base] * 4 + stems + TEXTS), old.dataset: [entity]}
    if random.random() < 0.3: container["deletions"] = [dict(id=random.choice([old.key(random.choice(old.entities)), "absent"]), deletedAt=random.choice(INSTANTS + [old.timestamp]))]
    if random.random() < 0.3: container["instants"] = [dict(id=old.key(entity), at=random.choice(INSTANTS + [old.timestamp]))]
    if random.random() < 0.3: container["columns"] = {random.choice([c["name"] for c in old.index["columns"]] + TEXTS): [dict(id=old.key(entity))]}
    asset = Asset("assets/%s/%020d-%08x" % (record["name"], number, random.getrandbits(32)), old.index, container)
    zone.assets[asset.path] = asset
    named = dict(type="asset", value=dict(path=asset.path))
    # On the asset of the version before, or on the new one.
    if random.random() < 0.9 and number > 1:
        before = zone.last(record["name"], number - 1)
        record["fields"]["dataFile"] = copy.deepcopy(before["fields"]["dataFile"])
        asset.after = random.choice([zone.asset(before).stem.rpartition("/")[2]] * 4 + [asset.after])
    if random.random() < 0.1: record["fields"]["changeFile"] = named
    else: record["fields"]["changeFiles"] = dict(type="list", value=[named] * random.choice([1] * 9 + [2]))
    record["fields"]["syncTimestamp"]["value"] = asset.timestamp if asset.timestamp not in INSTANTS[-4:] else old.timestamp
    record["fields"]["recordCount"]["value"] = len(zone.asset(record).entities) + random.choice([0] * 6 + [1, -1, 2**48])


# Commits and their records.

def answers(zone, random):
    devices = ["phone", "watch", "desk", "nobody", "../phone", "\x1b[2J", "<b>"]
    zone.edits[zone.newest["number"]] = {"answered": random.choice([
        {random.choice(devices): random.choice([1, 2**63 - 1, 2**62, 0, -1, 10**16])}, {device: 2**63 - 1 for device in devices[:4]}, {}, {"device%d" % n: 1 for n in range(2000)}])}


def commit(zone, random):
    new = zone.append(random.choice(["desk", "laptop", "desk", "phone", "nobody"])) if random.random() < 0.5 else zone.newest
    act = random.randrange(9)
    if act == 0: new["approvals"] = [random.choice(TEXTS + ["shrink:notes_data", "shrink:../x", "tombstones:9999-12-31T23:59:59.999Z", "tombstones:0001-01-01T00:00:00.000Z"]) for _ in range(random.choice([1, 3, 500]))]
    elif act == 1: new["deleted"] = [random.choice(zone.names_of(lambda one: True) + ["absent"])]
    elif act == 2: new["clock"] = random.choice(["2000-01-01T00:00:00.000Z", "2099-12-31T23:59:59.999Z", "2100-01-01T00:00:00.000Z", "2027-06-01T00:00:00.000Z"])
    elif act == 3: new["requires"] = random.choice([["zoneEvents"], ["signed"], ["sealed", "signed"], [random.choice(TEXTS)], ["zoneEvents", "zoneEvents"]])
    elif act == 4:
        to = dict(creator=random.choice(["bodaf-pokoz-tasaf-hukuv-jafob-fijog-hifuj-gapoj"] + TEXTS), zone=random.choice(["main", "other", "../other", random.choice(TEXTS)]), features=random.choice([["signed"], ["sealed", "signed"], [], [random.choice(TEXTS)]]))
        zone.edits[new["number"]] = dict(requires=sorted(set(new.get("requires", []) + ["zoneEvents"])), zoneEvent=dict(kind=random.choice(["moved", "moved", random.choice(TEXTS)]), to=to), saved=[], deleted=[])
    elif act == 5: zone.edits[new["number"]] = {random.choice(["nonce", "device", "more", "key"]): random.choice(TEXTS)}
    elif act == 6: zone.edits[new["number"]] = {"checkpoint": dict(number=random.choice([1, 2, new["number"]]), sha256="0" * 64)}
    else: disturb(new, random, spared=("number", "parent", "sha256", "path", "timestamp", "clock", "saved", "deleted", "checkpoint"))


def records(zone, random):
    act = random.randrange(7)
    name = random.choice(zone.names_of(lambda one: True) + ["pin_1", "pin_2"])
    if act == 0: zone.newest["saved"].append(dict(name="snapshot_retention", type="SnapshotRetention", fields=dict(oldestKept=field(random.choice([0, 1, 99, 2**63 - 1])), at=dict(type="date", value="2026-11-01T00:00:00.000Z"))))
    elif act == 1:
        devices = [random.choice(["laptop", "phone", "desk"] + TEXTS) for _ in range(random.choice([1, 3, 256, 300]))]
        zone.newest["saved"] = [one for one in zone.newest["saved"] if one["name"] != "snapshot_key_ranges"] + [dict(name="snapshot_key_ranges", type="SnapshotKeyRanges", fields=dict(devices=dict(type="list", value=[field(one) for one in devices])))]
    elif act == 2: zone.newest["saved"].append(dict(name="snapshot_freshness", type="SnapshotFreshness", fields=dict(interval=field(random.choice([0, 1, 60, 31_536_000, 2**63 - 1])))))
    elif act == 3:
        version = random.choice([0, 1, 2, 3, 99, 2**62])
        record = dict(name=random.choice(["pin_%d" % version, "pin_3", "pin_x"]), type="SnapshotPin", fields=dict(version=field(version), name=field(random.choice(TEXTS)), commit=field("0" * 64), checkpoint=field(random.choice(["0" * 64] + TEXTS)),
                      timestamp=dict(type="date", value="2026-11-01T00:00:00.000Z"), pinnedAt=dict(type="date", value="2026-11-01T00:00:00.000Z")))
        zone.newest["saved"] = [one for one in zone.newest["saved"] if one["name"] != record["name"]] + [record]
    elif act == 4:
        record = zone.record(name)
        disturb(record["fields"], random, spared=("sha256", "path", "dataFile", "type", "index", "size"))
    elif act == 5:
        # A true asset under other counts and times.
        zone.lies[zone.newest["number"], dataset(random) + "_data"] = random.choice([dict(recordCount=field(random.choice(NUMBERS[:8]))), dict(syncTimestamp=dict(type="date", value=random.choice(INSTANTS))), dict(more=field(random.choice(TEXTS)))])
        for one in DATASETS: data(zone, one)
    else:
        one, other = data(zone, "people"), data(zone, "notes")
        one["fields"], other["fields"] = other["fields"], one["fields"]


# Readers' messages, and reports.

def edits(zone, random):
    number = random.randrange(10**15, 2 * 10**15)
    found = []
    for _ in range(random.choice([1, 1, 2, 50])):
        name = random.choice(DATASETS + (random.choice(TEXTS), "canary"))
        row = {"people": dict(id="p1", name="Forged", boss="p2"), "pairs": dict(a="a1", b=1, v="forged")}.get(name, dict(id="n1", title="forged", person="p1", score=1.5, updated_at="2026-11-21T08:00:00.000Z"))
        for key in list(row):
            if random.random() < 0.15: row[key] = odd(random, row[key])
        if random.random() < 0.2: row[random.choice(TEXTS)] = random.choice(TEXTS)
        key = row.get("id", [row.get("a"), row.get("b")])
        edit = dict(at=random.choice(["2026-11-28T18:21:44.801Z"] * 3 + INSTANTS), born=random.choice(["2026-03-01T08:00:00.000Z"] * 3 + INSTANTS), dataset=name, number=number, id=random.choice([key] * 4 + TEXTS + NUMBERS[:9]))
        if random.random() < 0.8: edit["row"] = random.choice([text(row, False)] * 8 + TEXTS + ["[" * 600, "{}"])
        if random.random() < 0.5: edit["columns"] = [dict(at=random.choice([edit["at"]] * 3 + INSTANTS), name=random.choice(list(row) + TEXTS))]
        if random.random() < 0.4: edit["base"] = random.choice([dict(at=random.choice(INSTANTS)), dict(deletedAt=random.choice(INSTANTS)), dict(at="2026-03-01T08:00:00.000Z", columns=[dict(at=random.choice(INSTANTS), name=random.choice(list(row) + TEXTS))])])
        for flag in ("part", "held", "loose", "fullSync"):
            if random.random() < 0.12: edit[flag] = random.choice([True, True, False, 1])
        found.append(edit)
        number += random.choice([1, 1, 1, 0, -1, 2**62, 10**6])
    return found


def message(zone, random):
    place, like = next(iter(zone.messages.items()))
    act = random.randrange(6)
    new = copy.deepcopy(like)
    sender = random.choice(["phone"] * 3 + ["watch", "nobody", "desk", random.choice(["laptop", "-rf", "..."])])
    new["id"] = new["body"]["id"] = "%032x" % random.getrandbits(128)
    new["sender"] = new["body"]["device"] = sender
    if act == 0: disturb(new["body"], random)
    elif act == 1: new["body"]["edits"] += copy.deepcopy(new["body"]["edits"]) + edits(zone, random)
    else: new["body"]["edits"] = edits(zone, random)
    if act == 2: new["body"]["device"] = random.choice(["desk", "nobody"] + TEXTS)
    zone.messages["messages/%s/%s.json" % (sender, new["id"])] = new
    if random.random() < 0.5 and sender == "phone": del zone.messages[place]
    if random.random() < 0.3:
        zone.edits[zone.newest["number"]] = {"answered": {**zone.newest.get("answered", {}), sender: random.choice([1, 2**62, max(1, min(2**62, abs(new["body"]["edits"][0]["number"]))) if new["body"].get("edits") and isinstance(new["body"]["edits"], list) and isinstance(new["body"]["edits"][0], dict) and isinstance(new["body"]["edits"][0].get("number"), int) else 5])}}


def report(zone, random):
    place = random.choice(sorted(zone.reports))
    new = copy.deepcopy(zone.reports[place])
    device = random.choice([new["device"], "nobody", "desk"])
    act = random.randrange(6)
    if act == 0: new["token"] = dict(number=random.choice([1, 2, 99, 2**62, 10**18 - 1]), hash=random.choice(["0" * 64] + TEXTS))
    elif act == 1: new["clock"] = random.choice(INSTANTS)
    elif act == 2: new["role"] = random.choice(["writer", "peer", "reader", "observer"] + TEXTS)
    elif act == 3: new["nonce"] = random.choice(TEXTS)
    else: disturb(new, random)
    if act != 5: new["device"] = device
    zone.reports["devices/%s/%020d.json" % (device, random.choice([2, 99, 10**18 - 1]))] = new


def markers(zone, random):
    random.choice([lambda: zone.marker.update(publishers=random.choice(["one", "many", random.choice(TEXTS)])), lambda: zone.marker.update(creator=random.choice(["laptop"] + TEXTS)),
                   lambda: zone.cloud.update(container=random.choice(["iCloud.org.other"] + TEXTS)), lambda: zone.marker.update(features=[random.choice(["sealed", "padded"] + TEXTS)]),
                   lambda: disturb(random.choice([zone.cloud, zone.marker]), random)])()


LIES = [description] * 4 + [further] * 2 + [sql] * 3 + [rows] * 3 + [order, index, index] + [lists] * 3 + [changes] * 3 + [answers, commit, commit] + [records] * 3 + [message] * 4 + [report, markers]


# What a member of a signed zone does beyond its right, and what somebody does who is none. `zone.signer` has whose key signs what.

LESSER = ["phone", "watch", "stranger"]


def admission(zone, random):
    """A list of members with a statement that somebody signs who may not, or without one that was in it; in a commit of theirs, or of a publisher's."""
    fields = zone.record("snapshot_members")["fields"]
    texts = [one["value"] for one in fields["statements"]["value"]]
    first = json.loads(texts[0])["statement"]
    by, device, carrier = random.choice(LESSER), random.choice(LESSER + ["desk"]), random.choice(["laptop", "desk", None])
    if carrier and random.random() < 0.3: texts = random.choice([texts[:-1], texts[::-1], texts[:1], texts + texts[-1:]])
    else:
        body = dict(action=random.choice(["add", "remove", "role", "create"]), by=random.choice([by, "desk"]), clock="2026-11-29T08:00:00.000Z", cloud=first["cloud"], zone=first["zone"], device=device,
                    number=len(texts) + 1, parent=sha(texts[-1].encode()), role=random.choice(["peer", "writer", "reader", "observer"]), key=zone.keys[device].key, sealKey=zone.keys[device].seal_key,
                    floor=dict(number=1, hash=zone.hash(1)))
        if body["action"] in ("remove", "role"): del body["key"], body["sealKey"], body["floor"]
        if body["action"] == "remove": del body["role"]
        if random.random() < 0.3: disturb(body, random)
        own = text(body).encode()
        texts.append('{"statement":%s,"sha256":"%s","signature":"%s"}' % (own.decode(), sha(own), zone.keys[by].signing.sign(b"snapsync-statement 1\n" + own).hex()))
    fields["statements"]["value"] = [dict(type="string", value=one) for one in texts]
    zone.newest["device"] = zone.signer[zone.newest["number"]] = carrier or by


def overstep(zone, random):
    """Any lie, in a commit that somebody signs who does not publish, in their own or another's name."""
    by, name = random.choice(LESSER), random.choice(LESSER + ["desk", "laptop"])
    if random.random() < 0.6: zone.append(name)
    zone.newest["device"], zone.signer[zone.newest["number"]] = name, by
    random.choice([rows, lists, description, further, sql, records, answers])(zone, random)


def whisper(zone, random):
    """Messages and reports that somebody signs who may not send them, or in another's name; those that the reader signs are the lies of a member within its right."""
    random.choice([message, message, report])(zone, random)
    for place in list(zone.messages) + list(zone.reports): zone.signer[place] = random.choice(LESSER)
    zone.is_rightful = any(place.startswith("messages/phone/") and zone.signer[place] == "phone" for place in zone.messages)
