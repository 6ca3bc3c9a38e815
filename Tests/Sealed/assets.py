"""Assets of a sealed zone, as docs/sealed.md and docs/format.md say, with PyPI's cryptography and nothing of snapsync.

    z = open_zone(ZONE, seed_of("phone"))
    rows = version(z, ZONE, "notifications_data", z.record(saved))      # {key: entity}
    asset = write_changes(z, ZONE, "notifications_data", 3, container)
"""
import gzip, hashlib, json, os, struct, zlib
from sealed import derive

HEAD = bytes.fromhex("1f8b08000000000000ff")
MASK = (1 << 64) - 1


def sha(data): return hashlib.sha256(data).hexdigest()


def siphash(key, data):
    """SipHash-2-4."""
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    def turn(word, count): return (word << count | word >> 64 - count) & MASK
    def rounds(count):
        for _ in range(count):
            v[0] = (v[0] + v[1]) & MASK; v[1] = turn(v[1], 13) ^ v[0]; v[0] = turn(v[0], 32)
            v[2] = (v[2] + v[3]) & MASK; v[3] = turn(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & MASK; v[3] = turn(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & MASK; v[1] = turn(v[1], 17) ^ v[2]; v[2] = turn(v[2], 32)
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 255])
    for (word,) in struct.iter_unpack("<Q", padded):
        v[3] ^= word; rounds(2); v[0] ^= word
    v[2] ^= 0xFF; rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def cuts(z, key, block_entities): return siphash(derive(z.secrets[1], b"snapsync.cut.1", 16), str(key).encode()) * block_entities < 1 << 64


def read(path): return open(path, "rb").read()


def inflate(member, length):
    assert member[:10] == HEAD, "not a gzip member of the format"
    stream = zlib.decompressobj(-15)
    raw = stream.decompress(member[10:-8], length + 1)
    assert stream.eof and not stream.unused_data and len(raw) == length and member[-8:] == struct.pack("<II", zlib.crc32(raw), length)
    return raw


def deflate(raw): return HEAD + gzip.compress(raw, 9, mtime=0)[10:]


def read_snapshot(z, zone, record, asset):
    """The container's text and the index of a snapshot asset, both checked."""
    data, path = read(zone + "/" + asset["path"]), zone + "/" + asset["path"].replace(".json.gz", ".index.json")
    box = read(path)
    assert (len(data), sha(data), len(box), sha(box)) == (asset["size"], asset["sha256"], asset["index"]["size"], asset["index"]["sha256"])
    index, text, offset = json.loads(z.open(box, "index", record)), b"", 0
    blocks, full = index["blocks"], True
    for number, entry in enumerate([index["header"]] + blocks + [index["tail"]]):
        box, offset = data[entry["offset"]:entry["offset"] + entry["length"]], offset + entry["length"]
        assert entry["offset"] + entry["length"] == offset and sha(box) == entry["sha256"]
        raw, separator = inflate(z.open(box, "member", record), entry["rawLength"]), 0
        if 0 < number <= len(blocks):
            separator = 1 if number == 1 else 2
            keys = [entity["id"] for entity in json.loads(b"[%s]" % raw[separator:])]
            assert keys[0] == entry["firstKey"] and len(keys) == entry["count"]
            assert full or cuts(z, keys[0], index["blockEntities"]), "a block begins where none does"
            assert not any(cuts(z, key, index["blockEntities"]) for key in keys[1:]), "a block should have begun"
            full = len(raw) - separator >= 1 << 20
        assert sha(raw[separator:]) == entry["rawSha256"]
        text += raw
    assert offset == len(data) == index["size"] and len(text) == index["rawSize"] == asset["rawSize"]
    return text, index


def read_changes(z, zone, record, asset):
    box = read(zone + "/" + asset["path"])
    assert (len(box), sha(box)) == (asset["size"], asset["sha256"])
    return json.loads(inflate(z.open(box, "member", record), asset["rawSize"]))


def version(z, zone, record, fields):
    """The entities of a version by their keys, from its snapshot asset and its change assets."""
    text, index = read_snapshot(z, zone, record, fields["dataFile"]["value"])
    rows = {entity["id"]: entity for entity in json.loads(text)[index["dataset"]]}
    end = stem(fields["dataFile"]["value"])
    for value in fields.get("changeFiles", {"value": []})["value"]:
        changes = read_changes(z, zone, record, value["value"])
        assert changes["after"] == end, "it stands on another asset"
        end = stem(value["value"])
        for entity in changes[index["dataset"]]:
            if isinstance(entity, list):  # a partial entity: put over the one before, without the columns that became NULL
                entity, *absent = entity
                entity = {name: value for name, value in {**rows[entity["id"]], **entity}.items() if name not in absent}
            rows[entity["id"]] = entity
        for deletion in changes.get("deletions", []): rows.pop(deletion["id"], None)
    assert len(rows) == fields["recordCount"]["value"]
    return rows


def stem(asset):
    """The name of an asset: number and nonce."""
    return os.path.basename(asset["path"])[:29]


def container(dataset, timestamp, entities, after=None):
    """The text of a container with entities in the order of their keys; `after`, of a change asset: the asset that it stands on."""
    lines = [json.dumps(entity, ensure_ascii=False, separators=(",", ":")) for entity in entities]
    on = ',"after":"%s"' % stem(after) if after else ""
    return ('{"syncTimestamp":"%s"%s,"%s":[' % (timestamp, on, dataset)).encode(), [line.encode() for line in lines], b"\n]}\n"


def put(zone, record, number, suffix, data):
    path = "assets/%s/%020d-%s%s" % (record, number, os.urandom(4).hex(), suffix)
    os.makedirs(os.path.dirname(zone + "/" + path), exist_ok=True)
    open(zone + "/" + path, "wb").write(data)
    return path


def write_changes(z, zone, record, number, parts, epoch=None):
    """A change asset, as a record names it."""
    head, lines, tail = parts
    raw = head + b"".join((b"\n" if i == 0 else b",\n") + line for i, line in enumerate(lines)) + tail
    box = z.seal(deflate(raw), "member", record, epoch)
    return {"path": put(zone, record, number, ".changes.json.gz", box), "size": len(box), "rawSize": len(raw), "sha256": sha(box)}


def write_snapshot(z, zone, record, number, parts, like, epoch=None, member_record=None):
    """A snapshot asset with its index, of the columns and cuts of another index; `member_record`, for false ones: the record that members are sealed for."""
    head, lines, tail = parts
    blocks = []
    for line in lines:
        if not blocks or cuts(z, json.loads(line)["id"], like["blockEntities"]): blocks.append([])
        blocks[-1].append(line)
    data, entries, raw_size = b"", [], 0
    for number_of, (separator, raw) in enumerate(
            [(b"", head)] + [(b"\n" if i == 0 else b",\n", b",\n".join(block)) for i, block in enumerate(blocks)] + [(b"", tail)]):
        box = z.seal(deflate(separator + raw), "member", member_record or record, epoch)
        entry = {"offset": len(data), "length": len(box), "rawLength": len(separator + raw), "sha256": sha(box), "rawSha256": sha(raw)}
        if 0 < number_of <= len(blocks):
            block = blocks[number_of - 1]
            entry = {"firstKey": json.loads(block[0])["id"], "count": len(block), **entry}
        data, raw_size = data + box, raw_size + entry["rawLength"]
        entries.append(entry)
    def text(value): return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    facts = {k: like[k] for k in ("formatVersion", "dataset", "key", "timestamp") if k in like}
    lists = ",\n".join(text(c) for c in like["columns"]), ",\n".join(text(e) for e in entries[1:-1])
    index = text(facts)[:-1] + ',\n"columns":[\n' + lists[0] + '\n],\n"recordCount":%d,"blockEntities":%d,"size":%d,"rawSize":%d,\n"header":' % (
        len(lines), like["blockEntities"], len(data), raw_size)
    index += text(entries[0]) + ',\n"blocks":[' + ("\n" + lists[1] + "\n" if lists[1] else "") + '],\n"tail":' + text(entries[-1]) + "}\n"
    path = put(zone, record, number, ".json.gz", data)
    box = z.seal(index.encode(), "index", record, epoch)
    open(zone + "/" + path.replace(".json.gz", ".index.json"), "wb").write(box)
    return {"path": path, "size": len(data), "rawSize": raw_size, "sha256": sha(data), "index": {"size": len(box), "sha256": sha(box)}}
