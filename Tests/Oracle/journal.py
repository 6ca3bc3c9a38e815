"""Edits that lost: docs/sync.md says that each is written to the conflict journal of the device that merged."""
import base64

from devices import parsed
from follower import Failed
from values import loaded, told_key


def check(run, name, moment):
    """Every edit that lost by every reading of the documents stands in a device's journal, with what it said."""
    if not run.exact:
        return
    certain = frozenset.intersection(*(world.lost for world in run.worlds))
    wanted = {each for each in certain if each[0] == name and tells(run, each)}
    result = run.devices.run(name, moment, "conflicts", "--all", "--json")
    report = parsed(result)
    if result.code != 0 or report is None:
        raise Failed("conflicts on %s ended with %d\n%s" % (name, result.code, result.err))
    entries = [(entry["dataset"], entry["key"], entity(entry["lost"])) for entry in report["conflicts"]]
    run.figures["edits that lost, in a journal"] += len(entries)
    for _, (table, key), row, winner in sorted(wanted, key=repr):
        lost = None if row is None else as_json(run.schema.table(table), row)
        alike = [(dataset, told_key(text, key), row) for dataset, text, row in entries if dataset == table]
        if (table, key if isinstance(key, tuple) else str(key), lost) not in alike:
            raise Failed("not kept: %s %r of %s lost with %r to %r, and the journal has\n  %s" % (
                table, key, name, row, winner, "\n  ".join(repr(entry) for entry in entries) or "nothing"))


def tells(run, each):
    """Two sides that differ in nothing but the timestamp are no conflict."""
    _, (table, _), row, winner = each
    described = run.schema.table(table)
    if row is None or winner is None or not described.timestamp:
        return True
    column = described.position(described.timestamp)
    return row[:column] + row[column + 1:] != winner[:column] + winner[column + 1:]


def entity(side):
    return None if side["isDeletion"] else loaded(side["entity"])


def as_json(table, row):
    """A row as the entity that travels: docs/datasets.md."""
    return {name: as_any(value) for name, value in zip(table.names(), row) if value is not None}


def as_any(value):
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, float) and abs(value) == float("inf"):
        return {"real": "Infinity" if value > 0 else "-Infinity"}
    return value
