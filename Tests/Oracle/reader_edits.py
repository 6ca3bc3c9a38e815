"""What an application writes at a reader into its own tables: mostly what the tables' policies permit."""
from statements import Writer


class EditsWriter(Writer):
    def reader_ops(self, moment, rows):
        chance, table = self.chance, self.chance.choice(self.schema.tables)
        there = [row[:len(table.keys)] for row in rows[table.name].values()]
        if not table.messages.patch or not there:
            return [self.op(moment, rows)]
        at = self.where(table, chance.choice(there))
        if table.messages.delete and chance.random() < 0.2:
            return [{"do": "delete", "table": table.name, "sql": "DELETE FROM %s %s" % (table.name, at)}]
        refers = self.reference(table, rows) if table.parent else {}
        chosen = chance.sample(table.messages.patch, chance.randrange(1, len(table.messages.patch) + 1))
        pairs = [(name, refers[name] if name in refers else self.value(table, table.column(name), moment, rows)) for name in chosen]
        if table.timestamp and chance.random() < 0.6:
            pairs.append((table.timestamp, self.timestamp(table, moment)))
        return [{"do": "update", "table": table.name, "sql": "UPDATE %s SET %s %s" % (table.name, ", ".join("%s = %s" % pair for pair in pairs), at)}]
