#!/usr/bin/env python3
"""Lays change assets over a snapshot asset, as docs/format.md says; written from that page alone.

usage: lay_changes.py SNAPSHOT CHANGES...          the change assets oldest first

Prints the version's container as JSON with sorted keys. Knows datasets whose key is `id`.
"""
import gzip, json, sys


LISTS = ("held", "deletions", "instants", "born")


def order(keys):
    return sorted(set(keys), key=str.encode)


def key(entry):
    return (entry[0] if isinstance(entry, list) else entry)["id"]


def laid(entry, before):
    """A partial entity over the entity before; another one as it is."""
    if not isinstance(entry, list):
        return entry
    entity, *absent = entry
    assert not set(absent) & set(entity), "%s has a value and is NULL" % absent
    return {name: value for name, value in {**before[entity["id"]], **entity}.items() if name not in absent}


def load(path):
    with gzip.open(path) as file:
        container = json.load(file)
    (dataset,) = set(container) - {"syncTimestamp", "after", "columns", *LISTS}
    lists = {name: container.get(name, []) for name in LISTS}
    lists.update({("columns", name): entries for name, entries in container.get("columns", {}).items()})
    for name, entries in [(dataset, container[dataset])] + list(lists.items()):
        keys = [key(entry) for entry in entries]
        assert keys == order(keys), "%s: %s are not in order" % (path, name)
    return dataset, container["syncTimestamp"], container[dataset], lists


def main():
    dataset, timestamp, rows, lists = load(sys.argv[1])
    entities = {entity["id"]: entity for entity in rows}
    tables = {name: {entry["id"]: entry for entry in entries} for name, entries in lists.items()}
    for path in sys.argv[2:]:
        name, timestamp, rows, lists = load(path)
        assert name == dataset, path + ": another dataset"
        rows = [laid(entry, entities) for entry in rows]
        for entry in rows + lists["held"] + lists["deletions"]:
            for table in [entities, *tables.values()]:
                table.pop(entry["id"], None)
        entities.update({entity["id"]: entity for entity in rows})
        for name, entries in lists.items():
            tables.setdefault(name, {}).update({entry["id"]: entry for entry in entries})
    result = {"syncTimestamp": timestamp, dataset: [entities[key] for key in order(entities)]}
    for name, table in tables.items():
        if table:
            target, name = (result, name) if isinstance(name, str) else (result.setdefault("columns", {}), name[1])
            target[name] = [table[key] for key in order(table)]
    print(json.dumps(result, sort_keys=True))


main()
