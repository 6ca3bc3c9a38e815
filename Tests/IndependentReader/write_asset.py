#!/usr/bin/env python3
"""Writes a small snapshot asset of format version 1 with everything that a tail has; written from docs/format.md alone.

usage: write_asset.py ASSET INDEX

Made Fixtures/format-1/tombstones.json.gz and its index once. A second writer, so that the project's reader does not only
read what the project's writer writes.
"""
import hashlib, struct, sys, zlib

from read_asset import HEAD, cut_hash, index_text, number_text, quote

BLOCK_ENTITIES = 3
COLUMNS = [
    {"name": "score", "type": "real", "optional": True},
    {"name": "n", "type": "integer", "optional": False},
    {"name": "größe \"x\"", "type": "text", "optional": True},
    {"name": "changed", "type": "text", "optional": False},
    {"name": "extra", "type": "json", "optional": True},
]


def entities():
    for n in [-9223372036854775808, -300, -17, 0] + list(range(1, 40, 3)) + [9223372036854775807]:
        fields = []
        if n % 2:
            fields.append('"score":' + (number_text(n / 7) if n % 3 else str(n)))
        fields.append('"n":%d' % n)
        if n % 5:
            fields.append(quote('größe "x"') + ":" + quote("line %d\n\t\x01\x7f/\\ \U0001f1ee\U0001f1f9" % n))
        fields.append('"changed":"2026-11-21T08:%02d:00Z"' % (n % 60))
        if n % 4 == 1:
            fields.append('"extra": {"n" : [%d, null, "\\ud83d\\ude00"]}\n' % n)
        yield n, "{" + ",".join(fields) + "}"


def member(raw, separator, offset):
    stream = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = HEAD + stream.compress(raw) + stream.flush() + struct.pack("<II", zlib.crc32(raw), len(raw))
    return data, {
        "offset": offset, "length": len(data), "rawLength": len(raw), "sha256": hashlib.sha256(data).hexdigest(),
        "rawSha256": hashlib.sha256(raw[separator:]).hexdigest()}


def main(asset_path, index_path):
    blocks = []
    for n, text in entities():
        if not blocks or cut_hash(n) * BLOCK_ENTITIES < 1 << 64:
            blocks.append([])
        blocks[-1].append((n, text))
    asset, raw_size, entries = b"", 0, []

    def add(raw, separator=0):
        nonlocal asset, raw_size
        data, entry = member(raw, separator, len(asset))
        asset += data
        raw_size += len(raw)
        return entry

    header = add(b'{"syncTimestamp":"2026-11-21T08:32:00.123456Z","samples":[')
    for number, block in enumerate(blocks):
        raw = ("\n" if number == 0 else ",\n") + ",\n".join(text for _, text in block)
        entry = add(raw.encode(), 1 if number == 0 else 2)
        entries.append(dict(entry, firstKey=block[0][0], count=len(block)))
    held = '{"n":100,"changed":"2026-11-21T08:20:00Z"}'
    tail = add(
        ('\n],"held":[%s]' % held).encode() +
        b',"deletions":[{"id":-5,"deletedAt":"2026-11-20T00:00:00.000Z"},{"id":12,"deletedAt":"2026-11-20T23:59:59.999999Z"}]'
        b',"instants":[{"id":4,"at":"2026-11-21T08:31:59.000Z"},{"id":100,"at":"2026-11-21T08:19:00.000Z"}]'
        b',"born":[{"from":-300,"to":0,"at":"2026-11-01T00:00:00.000Z"}]'
        b',"columns":{"changed":[{"id":100}],"extra":[{"from":1,"to":10,"at":"2026-11-21T08:31:59.500Z"},{"id":13}]}}\n')
    index = {
        "formatVersion": 1, "dataset": "samples", "key": "n", "timestamp": "changed", "columns": COLUMNS,
        "recordCount": sum(e["count"] for e in entries),
        "blockEntities": BLOCK_ENTITIES, "size": len(asset), "rawSize": raw_size, "header": header, "blocks": entries, "tail": tail}
    with open(asset_path, "xb") as file:
        file.write(asset)
    with open(index_path, "x") as file:
        file.write(index_text(index))


if __name__ == "__main__":
    main(*sys.argv[1:])
