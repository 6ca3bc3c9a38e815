"""Cases for another program that has the rules: calls of `rebase` in random histories. Usage: cases.py SEED COUNT; prints one JSON object a line."""
import json
import random
import sys
import devices
import histories
from rules import Row, Tombstone, shown, waits


def place(key):
    return list(key)


def entry(key, e):
    if isinstance(e, Tombstone):
        return {"at": place(key), "deleted": e.at}
    return {"at": place(key), "values": e.values, "instants": e.instants, "born": e.born, "held": e.held}


def edit(e):
    # A parent that was restored has seen nothing of the row's columns.
    base = {"row": {c: at for c, at in e.base.items() if at is not None}} if isinstance(e.base, dict) else {"deleted": e.base} if e.base is not None else {}
    change = {"deleted": e.changed[None]} if e.values is None else {"changed": e.changed, "values": e.values}
    return {"at": place(e.key), "base": base, **change, "born": e.born, "held": e.held, "loose": e.loose}


def lost(losses):
    return sorted(([*key, column, value] for key, column, value in losses), key=repr)


def main(seed, count):
    found, plain = [], devices.rebase

    def recorded(view, edits, horizon=0, own=None, restores=lambda edit: True, marks=True):
        edits, before = list(edits), dict(view.start) if hasattr(view, "start") else None
        standing, losses = plain(view, edits, horizon, own, restores, marks)
        if before is not None and edits and marks and all(map(restores, edits)):
            rows = view.rows
            found.append({
                "tables": {name: {"columns": t.columns, "unique": t.unique, "references": t.references, "together": [sorted(g) for g in t.together],
                                  "orphan": t.orphan} for name, t in view.schema.items()},
                "rows": [entry(k, e) for k, e in before.items()], "edits": [edit(e) for e in edits], "horizon": horizon,
                "own": [entry(k, e) for k, e in (own or {}).items() if shown(e)],
                "shown": [{"at": place(k), "values": e.values} for k, e in rows.items() if shown(e)],
                "waiting": [{"at": place(k), "values": e.values} for k, e in rows.items() if waits(e)],
                "standing": [edit(e) for e in standing],
                "later": lost(losses.later), "replaced": lost(losses.replaced), "misfits": lost(losses.misfits)})
        return standing, losses

    devices.rebase = recorded
    def hard(case):
        return case["misfits"] or case["later"] or case["replaced"] or case["waiting"]

    while sum(1 for case in found if hard(case)) < count * 3 // 4:
        world = histories.World(seed)
        world.run()
        seed += 1
    # Most cases are easy.
    easy = [case for case in found if not hard(case)]
    for case in [case for case in found if hard(case)] + random.Random(seed).sample(easy, min(count // 4, len(easy))):
        print(json.dumps(case, separators=(",", ":")))


main(int(sys.argv[1]), int(sys.argv[2]))
