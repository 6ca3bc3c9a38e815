"""Reads every kept version of a zone and checks all of it; written from docs/cloud-directory.md and docs/format.md alone."""
import gzip, hashlib, json, os, re

DATASETS = {"buckets_data": "buckets", "notifications_data": "notifications"}
TEMPORARY = re.compile(r"\.snapsync-")
_parsed = {}


class Damage(Exception):
    pass


def need(condition, place, reason):
    if not condition:
        raise Damage("%s: %s" % (place, reason))


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def sealed(path, name):
    """The body of a sealed document, and the hash of its file."""
    with open(path, "rb") as file:
        data = file.read()
    head, tail = ('{"%s":' % name).encode(), re.search(rb',"sha256":"([0-9a-f]{64})"\}\Z', data)
    need(data.startswith(head) and tail, path, "it is no sealed %s" % name)
    body = data[len(head):tail.start()]
    need(sha256(body) == tail[1].decode(), path, "the seal does not match")
    return json.loads(body), sha256(data)


def names_in(folder):
    """The names in a folder; none where it has not been made yet."""
    return os.listdir(folder) if os.path.isdir(folder) else []


def numbers(folder):
    names = [name for name in names_in(folder) if re.fullmatch(r"\d{20}\.json", name)]
    return sorted(int(name[:20]) for name in names)


class Zone:
    """One zone's directory, as it lies there now."""

    def __init__(self, path):
        self.path = path
        self.commits = {number: sealed(self.place("commits", number), "commit") for number in numbers(os.path.join(path, "commits"))}
        self.named = set()
        self.versions = {}
        self.hashes = {number: digest for number, (_, digest) in self.commits.items()}
        self.answered = {}
        self._fold()

    def place(self, folder, number):
        return os.path.join(self.path, folder, "%020d.json" % number)

    @property
    def newest(self):
        return max(self.commits, default=None)

    def _fold(self):
        kept = sorted(self.commits)
        if not kept:
            return
        need(kept == list(range(kept[0], kept[-1] + 1)), self.path, "the commits have a gap: %s" % kept)
        records = {} if kept[0] == 1 else self._checkpoint(kept)
        if kept[0] > 1 and self._start < kept[0] - 1:
            raise Damage("%s: the history before commit %d is gone and no checkpoint stands for it" % (self.path, kept[0]))
        checkpoints = set(numbers(os.path.join(self.path, "checkpoints")))
        for number in kept:
            commit, _ = self.commits[number]
            need(commit["number"] == number, self.place("commits", number), "another number stands in it")
            if number > kept[0]:
                need(commit["parent"] == self.hashes[number - 1], self.place("commits", number), "it follows from another parent")
            if number > self._start:
                self._save(commit, records)
                for name in commit["deleted"]:
                    records.pop(name, None)
            if number in checkpoints and number >= self._start:
                self._compare_checkpoint(number, records)
            self.answered = commit.get("answered", {})
            # From the checkpoint on every version can be told; those below it need what was pruned.
            if number >= self._start:
                self.versions[number] = {DATASETS[name]: self._version(records[name]) for name in DATASETS if name in records}

    _start = 0

    def _checkpoint(self, kept):
        """The records at the newest checkpoint from which the first kept commit can be told."""
        for number in kept:
            reference = self.commits[number][0].get("checkpoint")
            if reference and reference["number"] >= kept[0] - 1:
                path = self.place("checkpoints", reference["number"])
                need(os.path.exists(path), path, "the checkpoint that counts is missing")
                body, digest = sealed(path, "checkpoint")
                need(digest == reference["sha256"], path, "the checkpoint is not the one that a commit names")
                self._start = reference["number"]
                return {record["name"]: record for record in body["records"]}
        raise Damage("%s: commit 1 is gone and no commit names a checkpoint" % self.path)

    @staticmethod
    def _save(commit, records):
        """Puts a commit's records in, each as a checkpoint has it: with the commits that first and last saved it."""
        stamp = {"at": commit["timestamp"], "by": commit["device"]}
        for record in commit["saved"]:
            created = records.get(record["name"], {"created": stamp})["created"]
            records[record["name"]] = dict(record, changeTag=str(commit["number"]), created=created, modified=stamp)

    def _compare_checkpoint(self, number, records):
        """One that lies there is whole from the first, whether or not a commit names it yet."""
        path = self.place("checkpoints", number)
        body, _ = sealed(path, "checkpoint")
        need(body["number"] == number, path, "another number stands in it")
        need({record["name"]: record for record in body["records"]} == records, path, "it does not hold the records as of its commit")

    def _version(self, record):
        """The entities of one dataset: the snapshot asset with the change assets laid over it."""
        fields = {name: field["value"] for name, field in record["fields"].items()}
        dataset = DATASETS[record["name"]]
        container = self._asset(fields["dataFile"], dataset)
        entities = {entity["id"]: entity for entity in container[dataset]}
        for one in fields.get("changeFiles", []):
            changes = self._asset(one["value"], dataset)
            for entity in changes[dataset]:
                if isinstance(entity, list):
                    entity, *absent = entity
                    need(entity["id"] in entities, record["name"], "a partial entity has none before it")
                    entity = {name: value for name, value in {**entities[entity["id"]], **entity}.items() if name not in absent}
                entities[entity["id"]] = entity
            for deletion in changes.get("deletions", []):
                entities.pop(deletion["id"], None)
        if "changeFile" in fields:
            self._asset(fields["changeFile"], dataset)
        need(len(entities) == fields["recordCount"], record["name"], "%d entities, the record says %d" % (len(entities), fields["recordCount"]))
        return entities

    def _asset(self, asset, dataset):
        path = os.path.join(self.path, asset["path"])
        self.named.add(asset["path"])
        data = self._bytes(path, asset["size"], asset["sha256"])
        if "index" in asset:
            path = path.removesuffix(".json.gz") + ".index.json"
            self.named.add(os.path.relpath(path, self.path))
            self._bytes(path, asset["index"]["size"], asset["index"]["sha256"])
        if asset["sha256"] not in _parsed:
            raw = gzip.decompress(data)
            need(len(raw) == asset["rawSize"], path, "%d raw bytes, the commit says %d" % (len(raw), asset["rawSize"]))
            if len(_parsed) > 200:
                _parsed.clear()
            _parsed[asset["sha256"]] = json.loads(raw)
            need(dataset in _parsed[asset["sha256"]], path, "it holds another dataset")
        return _parsed[asset["sha256"]]

    def _bytes(self, path, size, digest):
        need(os.path.exists(path), path, "a commit names it, and it is not there")
        with open(path, "rb") as file:
            data = file.read()
        need(len(data) == size and sha256(data) == digest, path, "it is not what the commit says")
        return data

    def messages(self):
        """The numbers of the edits in the mailbox that no commit has decided, by sender."""
        folder, waiting = os.path.join(self.path, "messages"), {}
        for sender in names_in(folder):
            for name in names_in(os.path.join(folder, sender)):
                if re.fullmatch(r"[0-9a-f]{32}\.json", name):
                    with open(os.path.join(folder, sender, name)) as file:
                        edits = json.load(file)["message"]["body"]["edits"]
                    waiting.setdefault(sender, set()).update(e["number"] for e in edits if e["number"] > self.answered.get(sender, 0))
        return waiting

    def orphans(self):
        """Files that nothing needs: temporaries anywhere in the cloud, and assets and checkpoints that no kept commit names."""
        cloud = os.path.dirname(os.path.dirname(self.path))
        found = [os.path.join(folder, name) for folder, folders, names in os.walk(cloud) for name in names + folders if TEMPORARY.match(name)]
        for folder, _, names in os.walk(os.path.join(self.path, "assets")):
            paths = [os.path.join(folder, name) for name in names if not TEMPORARY.match(name)]
            found += [path for path in paths if os.path.relpath(path, self.path) not in self.named]
        return sorted(os.path.relpath(path, cloud) for path in found)
