"""The goals, and what the rows of a benchmark say of them."""

LARGE, MIDDLE, SMALL = 1_000_000, 100_000, 150


def table(rows):
    """A Markdown table: each goal, the figure of these rows, and whether it is met. Goals whose sizes were not measured say so."""
    def find(count, job, competitor=""):
        return next((row for row in rows if row["rows"] == count and row["job"] == job and competitor in row["competitor"]), None)

    def value(row, key):
        return None if row is None else row.get(key)

    def bytes_ratio(row):
        return None if row is None or "theirs_bytes" not in row else row["ours_bytes"] / row["theirs_bytes"]

    def growth(job, competitor=""):
        large, middle = find(LARGE, job, competitor), find(MIDDLE, job, competitor)
        return None if large is None or middle is None else large["ours_s"] / middle["ours_s"]

    def memory(job, count, key="ours_peak"):
        found = [row[key] for row in rows if row["rows"] == count and row["job"] == job]
        return max(found) if found else None

    def memory_growth(job):
        large, middle = memory(job, LARGE), memory(job, MIDDLE)
        return None if large is None or middle is None else large / middle

    def read_part(row):
        return None if row is None or not row["theirs_bytes"] else row["ours_bytes"] / row["theirs_bytes"]

    whole, empty, over = "export, whole", "import, into an empty database", "import, over as many other rows"
    blocks = find(LARGE, "catching up by blocks, 100 rows differ")
    changed_out, changed_in = find(LARGE, "export, 100 rows changed"), find(LARGE, "import, 100 rows changed")
    lines = [
        ("full export, time to `.dump \\| gzip -6`", 0.18, value(find(LARGE, whole, "gzip"), "ratio"), "x"),
        ("full export, time to `.dump \\| zstd -3 -T2`", 0.95, value(find(LARGE, whole, "zstd"), "ratio"), "x"),
        ("full export, bytes to `.dump \\| gzip -6`", 1.20, bytes_ratio(find(LARGE, whole, ".dump | gzip")), "x"),
        ("full import into an empty database, time to `zcat \\| sqlite3 new.db`", 0.25, value(find(LARGE, empty, "zcat | sqlite3"), "ratio"), "x"),
        ("full import over as many rows, time to `zcat \\| sqlite3 new.db`", 0.28, value(find(LARGE, over), "ratio"), "x"),
        ("100 of 1,000,000 rows changed, export: time", 30, milliseconds(changed_out), "ms"),
        ("100 of 1,000,000 rows changed, export: written", 40, kilobytes(changed_out), "kB"),
        ("100 of 1,000,000 rows changed, import: time", 30, milliseconds(changed_in), "ms"),
        ("100 of 1,000,000 rows changed, import: read", 40, kilobytes(changed_in), "kB"),
        ("catching up by blocks, time to a full import", 0.5, value(blocks, "ratio"), "x"),
        ("catching up by blocks, part of the asset read", 0.05, read_part(blocks), "x"),
        *((f"`sync`, nothing new, {side}, {count:,} rows", 12, milliseconds(find(count, f"sync, nothing new, {side}")), "ms")
          for side in ("writer", "reader") for count in (SMALL, MIDDLE, LARGE)),
        ("150 rows, export", 15, milliseconds(find(SMALL, whole)), "ms"),
        ("150 rows, import", 15, milliseconds(find(SMALL, "import, into an empty database")), "ms"),
        ("tracking, bulk insert of 100,000 rows, row by row", 1.3, value(find(100_000, "bulk insert of 100,000, row by row"), "ratio"), "x"),
        ("tracking, INSERT … SELECT of 100,000 rows", 1.8, value(find(100_000, "bulk insert of 100,000, INSERT … SELECT"), "ratio"), "x"),
        ("tracking, INSERT … SELECT … ORDER BY of 100,000 rows", 1.8, value(find(100_000, "bulk insert of 100,000, INSERT … SELECT … ORDER BY"), "ratio"), "x"),
        *rewritten(rows),
        ("growth of a full export, 100,000 to 1,000,000 rows", 11, growth(whole, ".dump | gzip"), "x"),
        ("growth of a full import, 100,000 to 1,000,000 rows", 11, growth(over), "x"),
        ("memory of a full export", 64, memory(whole, LARGE), "MiB"),
        ("memory of a full import", 128, memory(over, LARGE), "MiB"),
        ("memory of a full export, 1,000,000 to 100,000 rows", 1.15, memory_growth(whole), "x"),
        ("memory of a full import, 1,000,000 to 100,000 rows", 1.15, memory_growth(over), "x"),
    ]
    head = ["| goal | at most | measured | |", "| --- | ---: | ---: | --- |"]
    return "\n".join(head + [line(*one) for one in lines])


def rewritten(rows):
    """The goals of tables that are written whole and of other kinds of keys and columns, for each size that was measured."""
    lines = []
    for row in rows:
        name = f"{row['job']}, {row['rows']:,} rows"
        if row["competitor"] in ("export, whole, nothing tracked", "first export, rows from before"):
            lines += [(f"{name}: time to a full export", 1.3, row["ratio"], "x"), (f"{name}: memory", 64, row["ours_peak"], "MiB")]
        elif row["competitor"] == "one text key":
            lines.append((f"{name}: time to one text key", 1.15, row["ratio"], "x"))
        elif row["job"] == "describe":
            lines.append((f"{name}: read, to the table's pages", 1.1, row["ours_bytes"] / row["theirs_bytes"], "x"))
    return lines


def cloud_table(rows):
    """A Markdown table: each goal of records in a cloud directory, and whether these rows of ``cloud_bench`` meet it.

    The goals of commits are part of SQLite's rate at least, so they are compared as its time at most.
    """
    ratios = {row["job"]: row["ratio"] for row in rows}

    def ratio(start):
        return next((ratio for job, ratio in ratios.items() if job.startswith(start)), None)

    lines = [
        ("commits of one small record, 1 process, time to SQLite", 2, ratio("commits of one small record, 1 process"), "x"),
        ("commits of one small record, 4 processes, time to SQLite", 2, ratio("commits of one small record, 4 processes"), "x"),
        ("first visit of 10,000 records, time to SQLite", 3, ratio("first visit, 10,000 records"), "x"),
        ("query of 50 of 10,000 records, time to SQLite", 2, ratio("query, the first 50 of 10,000 records"), "x"),
    ]
    return "\n".join(["| goal | at most | measured | |", "| --- | ---: | ---: | --- |"] + [line(*one) for one in lines])


def small_table(rows, watched):
    """A Markdown table: each goal of runs of milliseconds, by elapsed and by processor time, and whether these rows of ``small_bench`` meet it."""
    def find(job):
        return next((row for row in rows if row["job"].endswith(job)), {})

    lines = []
    for job, most, competitor in [
        ("--version", 2, "sqlite3"), ("rows, export", 8, "sqlite3"), ("rows, import", 8, "sqlite3"), ("sync, nothing new, writer", 4, "sqlite3"),
        ("sync, nothing new, reader", 4, "sqlite3"), ("150 rows, export", 1.5, "`.dump \\| gzip -6`"), ("150 rows, import", 1.5, "`.dump \\| gzip -6`"),
    ]:
        row = find(job)
        for key, unit in (("ratio_wall", "time"), ("ratio_cpu", "processor time")):
            lines.append((f"{row.get('job', job)}, {unit} to {competitor}", most, row.get(key), "x"))
    lines.append(("`watch` on both sides, a change to the other database, median", 15, watched and watched.median, "ms"))
    lines.append(("`watch` on both sides, a change to the other database, 90 % within", 30, watched and watched.ninety, "ms"))
    return "\n".join(["| goal | at most | measured | |", "| --- | ---: | ---: | --- |"] + [line(*one) for one in lines])


def milliseconds(row):
    return None if row is None else row["ours_s"] * 1000


def kilobytes(row):
    return None if row is None else row["ours_bytes"] / 1000


def line(name, most, measured, unit):
    figure = lambda number: f"{number:.3g}" if unit == "x" else f"{number:.1f}"
    if measured is None:
        return f"| {name} | {figure(most)} {unit} | not measured | |"
    return f"| {name} | {figure(most)} {unit} | {figure(measured)} {unit} | {'met' if measured <= most else '**not met**'} |"
