"""What an application with buckets and notifications writes: everything at the writer, marks, deletions and buckets at a reader."""
from effects import quote
from statements import Writer

BUCKETS = ["b1", "b2", "b3", "b4"]
NOTES = ["n%d" % number for number in range(1, 11)]


class NotificationWriter(Writer):
    def keys(self, table):
        return [(key,) for key in (BUCKETS if table.name == "buckets" else NOTES)]

    def value(self, table, column, moment, rows):
        chance = self.chance
        if column.name in ("readAt", "sentAt") and chance.random() < 0.5:
            return "NULL"
        if column.name in ("readAt", "sentAt", "createdAt"):
            return quote("@{%d:%s}" % (moment - chance.choice([0, 1, 3600]) * 1_000_000, chance.choice(["seconds", "millis"])))
        if column.name in ("attachments", "actions"):
            return "'[]'"
        if column.name == "tapAction":
            return "NULL"
        return super().value(table, column, moment, rows)

    def ops(self, moment, rows):
        """A bucket is deleted with its notifications, as an application does it."""
        if rows["buckets"] and self.chance.random() < 0.07:
            return self.without_bucket(self.chance.choice(list(rows["buckets"])))
        return [self.op(moment, rows)]

    def without_bucket(self, key):
        return [{"do": "delete", "table": "notifications", "sql": "DELETE FROM notifications WHERE bucketId = %s" % quote(key)},
                {"do": "delete", "table": "buckets", "sql": "DELETE FROM buckets WHERE id = %s" % quote(key)}]

    def reader_ops(self, moment, rows):
        """What a message carries."""
        chance = self.chance
        kind, notes, buckets = chance.random(), list(rows["notifications"]), list(rows["buckets"])
        stamp = quote("@{%d:%s}" % (moment, chance.choice(["seconds", "millis"])))
        if notes and kind < 0.45:
            value = "NULL" if chance.random() < 0.2 else stamp
            return [self.update("notifications", chance.choice(notes), "readAt = %s, updatedAt = %s" % (value, stamp))]
        if notes and kind < 0.6:
            return [{"do": "delete", "table": "notifications", "sql": "DELETE FROM notifications WHERE id = %s" % quote(chance.choice(notes))}]
        table = self.schema.table("buckets")
        if not buckets or kind < 0.68:
            values = self.values(table, moment, rows, (chance.choice(BUCKETS),))
            return [{"do": "replace", "table": "buckets", "values": values, "sql": "INSERT OR REPLACE INTO buckets VALUES(%s)" % ", ".join(values)}]
        key = chance.choice(buckets)
        if kind < 0.85:
            stamped = ", updatedAt = %s" % stamp if chance.random() < 0.6 else ""
            return [self.update("buckets", key, "name = %s%s" % (self.value(table, table.column("name"), moment, rows), stamped))]
        if kind < 0.93:
            states = [row for row in self.earlier.get(("buckets", key), []) if row != rows["buckets"][key]]
            if states:
                pairs = ", ".join("%s = %s" % (name, quote(value)) for name, value in zip(table.names()[1:], chance.choice(states)[1:]))
                return [self.update("buckets", key, pairs)]
        return self.without_bucket(key)

    def update(self, table, key, pairs):
        return {"do": "update", "table": table, "sql": "UPDATE %s SET %s WHERE id = %s" % (table, pairs, quote(key))}
