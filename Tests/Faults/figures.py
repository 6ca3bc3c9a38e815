"""What a run of many points found, as one table."""


class Figures:
    """A row for each scenario, a column for each count; every column named in `wrong` must be 0 in all rows."""

    def __init__(self, columns, wrong):
        self.columns, self.wrong = columns, wrong
        self.rows = {}
        self.problems = []

    def add(self, scenario, **counts):
        row = self.rows.setdefault(scenario, dict.fromkeys(self.columns, 0))
        for name, count in counts.items():
            row[name] += count

    def highest(self, scenario, name, count):
        row = self.rows.setdefault(scenario, dict.fromkeys(self.columns, 0))
        row[name] = max(row[name], count)

    def problem(self, scenario, point, kind, text):
        """Counts a problem under its kind and keeps what is known of it."""
        self.add(scenario, **{kind: 1})
        self.problems.append("%s, %s: %s: %s" % (scenario, point, kind, text))

    def show(self, headings):
        total = {name: sum(row[name] for row in self.rows.values()) for name in self.columns}
        table = [["scenario"] + [headings.get(name, name) for name in self.columns]]
        table += [[scenario] + [str(row[name]) for name in self.columns] for scenario, row in self.rows.items()]
        table.append(["all"] + [str(total[name]) for name in self.columns])
        widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
        for problem in self.problems[:40]:
            print(problem)
        if len(self.problems) > 40:
            print("and %d more problems" % (len(self.problems) - 40))
        for line in table:
            print("| " + " | ".join(cell.ljust(width) if column == 0 else cell.rjust(width) for column, (cell, width) in enumerate(zip(line, widths))) + " |")
            if line is table[0]:
                print("| " + " | ".join(["---".ljust(widths[0], "-")] + ["-" * (width - 1) + ":" for width in widths[1:]]) + " |")
        return all(total[name] == 0 for name in self.wrong)
