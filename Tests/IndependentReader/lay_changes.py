#!/usr/bin/env python3
"""Lays change assets over a snapshot asset, as docs/format.md says; written from that page alone.

usage: lay_changes.py SNAPSHOT CHANGES...          the change assets oldest first

Prints the version's container as JSON with sorted keys. Knows datasets whose key is `id`.
"""
import gzip, json, sys


def load(path):
    with gzip.open(path) as file:
        container = json.load(file)
    (dataset,) = set(container) - {"syncTimestamp", "deletions", "instants"}
    keys = [entity["id"] for entity in container[dataset]]
    for name in ("deletions", "instants"):
        keys_there = [one["id"] for one in container.get(name, [])]
        assert keys_there == sorted(set(keys_there), key=str.encode), "%s: %s are not in order" % (path, name)
    assert keys == sorted(set(keys), key=str.encode), path + ": entities are not in order"
    return dataset, container


def main():
    dataset, version = load(sys.argv[1])
    entities = {entity["id"]: entity for entity in version[dataset]}
    deletions = {one["id"]: one for one in version.get("deletions", [])}
    instants = {one["id"]: one for one in version.get("instants", [])}
    for path in sys.argv[2:]:
        name, changes = load(path)
        assert name == dataset, path + ": another dataset"
        for entity in changes[dataset]:
            entities[entity["id"]] = entity
            deletions.pop(entity["id"], None)
            instants.pop(entity["id"], None)
        for one in changes.get("instants", []):
            instants[one["id"]] = one
        for one in changes.get("deletions", []):
            entities.pop(one["id"], None)
            instants.pop(one["id"], None)
            deletions[one["id"]] = one
        version = {"syncTimestamp": changes["syncTimestamp"]}
    result = {"syncTimestamp": version["syncTimestamp"], dataset: [entities[key] for key in sorted(entities, key=str.encode)]}
    for name, values in (("deletions", deletions), ("instants", instants)):
        if values:
            result[name] = [values[key] for key in sorted(values, key=str.encode)]
    print(json.dumps(result, sort_keys=True))


main()
