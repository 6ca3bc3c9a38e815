"""A small zone in memory, as docs/cloud-directory.md and docs/format.md say: read from a directory, changed in its meaning, and written with every hash right."""
import copy, datetime, glob, gzip, hashlib, json, os, struct, sys, zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../IndependentReader"))
from read_asset import HEAD, encoded, index_text, number_text, outside

LISTS = ("held", "deletions", "instants", "born", "columns")


def sha(data): return hashlib.sha256(data).hexdigest()


def text(value, is_sorted=True):
    """Canonical JSON; entities keep the order of their columns, and real numbers the format's form."""
    if isinstance(value, dict):
        items = sorted(value.items(), key=lambda item: item[0].encode()) if is_sorted else value.items()
        return "{%s}" % ",".join(json.dumps(name, ensure_ascii=False) + ":" + text(one, is_sorted) for name, one in items)
    if isinstance(value, list): return "[%s]" % ",".join(text(one, is_sorted) for one in value)
    if isinstance(value, float) and value == value and abs(value) != float("inf"): return number_text(value)
    return json.dumps(value, ensure_ascii=False)


def sealed(value, name, keys=None):
    """A document with its checksum and, with keys, its signature."""
    if keys: value = dict(value, key=keys.key)
    body = text(value).encode()
    end = ',"sha256":"%s"' % sha(body)
    if keys: end += ',"signature":"%s"' % keys.signing.sign(b"snapsync-%s 1\n" % name.encode() + body).hex()
    return b'{"%s":' % name.encode() + body + end.encode() + b"}"


def member(raw):
    stream = zlib.compressobj(1, zlib.DEFLATED, -15)
    return HEAD + stream.compress(raw) + stream.flush() + struct.pack("<II", zlib.crc32(raw), len(raw) & 0xFFFFFFFF)


def instant(moment):
    shown = moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return shown[:-4] + "Z" if shown.endswith("000Z") else shown


def moment(shown): return datetime.datetime.fromisoformat(shown.replace("Z", "+00:00")).replace(tzinfo=None)


class Asset:
    """A snapshot asset or a change asset: its header, entities and lists, and what its index states."""

    def __init__(self, stem, index, container):
        self.stem, self.index = stem, index
        self.dataset = next(name for name in container if name not in LISTS + ("syncTimestamp", "after"))
        self.timestamp, self.after, self.entities = container["syncTimestamp"], container.get("after"), container[self.dataset]
        self.lists = {name: container[name] for name in LISTS if name in container}
        # How an entity's key is found and put in order. The forger may change what the index states, and leave the order as it was.
        self.order, self.is_sorted = copy.deepcopy(index), True
        # What it is like in its file; None if it is in none.
        self.made = None

    @property
    def path(self): return self.stem + (".json.gz" if self.after is None else ".changes.json.gz")

    def state(self): return json.dumps([self.index, self.timestamp, self.after, self.entities, self.lists, self.is_sorted])

    def key(self, entity):
        if isinstance(entity, list): entity = entity[0]
        names = self.order["key"] if isinstance(self.order["key"], list) else [self.order["key"]]
        def value(one): return bytes.fromhex(one["hex"]) if isinstance(one, dict) and "hex" in one else one
        return outside([value(entity.get(name)) for name in names], self.order)

    def sort(self):
        def by(key):
            try: return encoded(key)
            except Exception: return repr(key).encode()
        self.entities.sort(key=lambda one: by(self.key(one)))
        for name, entries in self.lists.items():
            for one in entries.values() if isinstance(entries, dict) else [entries]:
                if isinstance(one, list): one.sort(key=lambda e: by(self.key(e) if name == "held" else e.get("id", e.get("from")) if isinstance(e, dict) else None))

    def parts(self):
        if self.is_sorted: self.sort()
        head = '{"syncTimestamp":%s,' % text(self.timestamp)
        if self.after is not None: head += '"after":%s,' % text(self.after)
        head += '%s:[' % text(self.dataset)
        tail = "\n]" + "".join(",%s:%s" % (text(name), text(self.lists[name], False)) for name in LISTS if self.lists.get(name)) + "}\n"
        return head.encode(), [text(one, False).encode() for one in self.entities], tail.encode()

    def write(self, zone):
        """Puts it in place. Returns the asset as a commit names it."""
        head, entities, tail = self.parts()
        if self.after is not None:
            raw = head + (b"\n" + b",\n".join(entities) if entities else b"") + tail
            return self.put(zone, self.path, member(raw), len(raw))
        half = (len(entities) + 1) // 2
        blocks = [one for one in (entities[:half], entities[half:]) if one]
        data, raw_size, entries = b"", 0, []
        def add(raw, separator=0):
            nonlocal data, raw_size
            packed = member(raw)
            entry = dict(offset=len(data), length=len(packed), rawLength=len(raw), sha256=sha(packed), rawSha256=sha(raw[separator:]))
            data, raw_size = data + packed, raw_size + len(raw)
            return entry
        header = add(head)
        for number, block in enumerate(blocks):
            separator = b",\n" if number else b"\n"
            first = self.entities[half if number else 0]
            entries.append(dict(add(separator + b",\n".join(block), len(separator)), firstKey=self.key(first), count=len(block)))
        index = dict(self.index, recordCount=len(entities), header=header, blocks=entries, tail=add(tail), size=len(data), rawSize=raw_size)
        index = index_text(index).encode()
        zone.write(self.stem + ".index.json", index)
        return dict(self.put(zone, self.path, data, raw_size), index=dict(size=len(index), sha256=sha(index)))

    def put(self, zone, path, data, raw_size):
        zone.write(path, data)
        return dict(path=path, size=len(data), rawSize=raw_size, sha256=sha(data))


class Zone:
    def __init__(self, path):
        self.path = path
        self.cloud, self.marker = self.json("../../cloud.json"), self.json("zone.json")
        self.commits = {one["number"]: one for one in (self.json(name)["commit"] for name in self.names("commits/*.json"))}
        self.assets = {}
        for number, commit in self.commits.items():
            for record in commit["saved"]:
                file = record["fields"].get("dataFile")
                if file and file["value"]["path"] not in self.assets:
                    stem = file["value"]["path"][:-len(".json.gz")]
                    with gzip.open(os.path.join(path, stem + ".json.gz")) as data: container = json.load(data)
                    index = {name: value for name, value in self.json(stem + ".index.json").items() if name in ("formatVersion", "dataset", "key", "timestamp", "columns", "blockEntities")}
                    self.assets[file["value"]["path"]] = asset = Asset(stem, index, container)
                    asset.made = asset.state()
        self.messages = {name: self.json(name)["message"] for name in self.names("messages/*/*.json")}
        self.reports = {name: self.json(name)["report"] for name in self.names("devices/*/*.json")}
        self.checkpoints = [int(os.path.basename(name)[:20]) for name in self.names("checkpoints/*.json")]
        # Whose key signs what, by device; a commit or another document may be signed by another device's than its own.
        self.keys, self.signer = {}, {}
        # Records whose counts the forger has set himself.
        self.lies, self.edits = {}, {}
        # Whether those who lie may at least change rows.
        self.is_rightful = False

    def json(self, name):
        with open(os.path.join(self.path, name), encoding="utf-8") as file: return json.load(file)

    def hash(self, number):
        with open(os.path.join(self.path, "commits/%020d.json" % number), "rb") as file: return sha(file.read())

    def names(self, pattern): return sorted(os.path.relpath(name, self.path) for name in glob.glob(os.path.join(self.path, pattern)))

    def write(self, name, data):
        name = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as file: file.write(data)
        # A young file that cannot be read would count as one that is still arriving.
        os.utime(name, (os.path.getmtime(name) - 3600,) * 2)

    @property
    def newest(self): return self.commits[max(self.commits)]

    def record(self, name, commit=None):
        """A record as the newest commit saves it; the commit saves it again if an earlier one did."""
        commit = commit or self.newest
        found = self.last(name, commit["number"]) or dict(name=name, type="SnapshotPin", fields={})
        if not any(one["name"] == name for one in commit["saved"]): commit["saved"].append(copy.deepcopy(found))
        return next(one for one in commit["saved"] if one["name"] == name)

    def last(self, name, number):
        """The record as it was last saved up to a commit."""
        return next((one for n in sorted(self.commits, reverse=True) if n <= number for one in self.commits[n]["saved"] if one["name"] == name), None)

    def names_of(self, test):
        return sorted({one["name"] for commit in self.commits.values() for one in commit["saved"] if test(one)})

    def asset(self, record): return self.assets[record["fields"]["dataFile"]["value"]["path"]]

    def append(self, device):
        """A further commit of a device, which saves nothing yet."""
        last = self.newest
        new = copy.deepcopy(last)
        new.update(number=last["number"] + 1, device=device, saved=[], deleted=[], approvals=[], nonce=os.urandom(8).hex())
        new["clock"] = instant(moment(last["clock"]) + datetime.timedelta(seconds=1))
        self.commits[new["number"]] = new
        return new

    def sign(self, value, name, device, place):
        keys = self.keys.get(self.signer.get(place, device)) if "signed" in self.marker["features"] else None
        return sealed({key: one for key, one in value.items() if key != "key"} if not keys else value, name, keys)

    def save(self):
        """Writes all of it: assets, then commits with the hashes of these, of their parents, checkpoints and pins, then the rest."""
        self.write("../../cloud.json", text(self.cloud).encode())
        self.write("zone.json", text(self.marker).encode())
        written, hashes, points, records, parent = {}, {}, {}, {}, None
        def named(asset):
            path = asset.get("path") if isinstance(asset, dict) else None
            # What is as it was keeps its bytes, and so the commits that devices have read keep theirs.
            if path in self.assets and self.assets[path].state() != self.assets[path].made:
                if path not in written: written[path] = self.assets[path].write(self)
                asset.update(written[path])
        for number in sorted(self.commits):
            commit = self.commits[number]
            for record in commit["saved"]:
                fields = record["fields"] if isinstance(record.get("fields"), dict) else {}
                for name in ("dataFile", "changeFile"):
                    if isinstance(fields.get(name), dict): named(fields[name].get("value"))
                for one in fields.get("changeFiles", {}).get("value", []) if isinstance(fields.get("changeFiles"), dict) else []:
                    if isinstance(one, dict): named(one.get("value"))
                base = fields.get("dataFile", {}).get("value", {}).get("path") if isinstance(fields.get("dataFile"), dict) else None
                if base in self.assets and "changeFiles" not in fields and "recordCount" in fields:
                    fields["recordCount"]["value"] = len(self.assets[base].entities)
                    fields["syncTimestamp"]["value"] = self.assets[base].timestamp
                if record["name"].startswith("pin_") and "commit" in fields:
                    version = fields["version"]["value"]
                    if version in hashes: fields["commit"]["value"] = hashes[version]
                    if version in points: fields["checkpoint"]["value"] = points[version]
                for field, value in self.lies.get((number, record["name"]), {}).items(): fields[field] = value
            commit["saved"].sort(key=lambda one: str(one["name"]).encode())
            commit["deleted"] = sorted(set(commit["deleted"]), key=str.encode)
            if "checkpoint" in commit and commit["checkpoint"]["number"] in points: commit["checkpoint"]["sha256"] = points[commit["checkpoint"]["number"]]
            clock = moment(commit["clock"])
            time = clock if parent is None else max(clock, moment(self.commits[number - 1]["timestamp"]) + datetime.timedelta(milliseconds=1))
            commit["timestamp"] = instant(time)
            if parent: commit["parent"] = parent
            commit.update(self.edits.get(number, {}))
            data = self.sign(commit, "commit", commit["device"], number)
            self.write("commits/%020d.json" % number, data)
            parent = hashes[number] = sha(data)
            stamp = dict(at=commit["timestamp"], by=commit["device"])
            for record in commit["saved"]:
                created = records.get(record["name"], dict(created=stamp))["created"]
                records[record["name"]] = dict(copy.deepcopy(record), changeTag=str(number), created=created, modified=stamp)
            for name in commit["deleted"]: records.pop(name, None)
            if number in self.checkpoints:
                body = dict(cloud=commit["cloud"], zone=commit["zone"], number=number, commit=parent, timestamp=commit["timestamp"], records=sorted(records.values(), key=lambda one: one["name"].encode()))
                if "answered" in commit: body["answered"] = commit["answered"]
                data = sealed(body, "checkpoint")
                self.write("checkpoints/%020d.json" % number, data)
                points[number] = sha(data)
        for kind, documents in (("message", self.messages), ("report", self.reports)):
            for name, document in documents.items():
                self.write(name, self.sign(document, kind, document.get("sender", document.get("device")), name))
