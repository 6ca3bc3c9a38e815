"""usage: container_to_gzip.py DATABASE FILE.json.gz: the container of all notifications, as a script of Python's fastest libraries writes it (orjson, isal)."""
import sqlite3, sys
from datetime import datetime, timezone

import orjson
from isal import igzip

HOLD_JSON = {"attachments", "actions", "tapAction"}


def main(database, target):
    connection = sqlite3.connect(database)
    rows = connection.execute("SELECT * FROM notifications")
    columns = [(name, name in HOLD_JSON) for name, *_ in rows.description]
    pending, size, comma = [], 0, b""
    with igzip.open(target, "wb", compresslevel=2) as file:
        file.write(b'{"syncTimestamp":"%s","notifications":[' % datetime.now(timezone.utc).isoformat().encode())
        for row in rows:
            entity = {
                name: orjson.Fragment(value) if is_json else value
                for (name, is_json), value in zip(columns, row)
                if value is not None
            }
            text = comma + orjson.dumps(entity)
            comma = b","
            pending.append(text)
            size += len(text)
            if size > 262_144:
                file.write(b"".join(pending))
                pending, size = [], 0
        file.write(b"".join(pending) + b"]}")


main(*sys.argv[1:])
