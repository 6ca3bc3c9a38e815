"""The fewest steps of a failing history that still fail: ddmin over the steps, then over the operations of each."""
import history


def fails(kind, seed, steps, tools, times=1):
    """The problem that some steps lead to, or None."""
    for _ in range(times):
        problem = history.run(history.History(kind, seed, steps, tools.without, tools.short), tools).problem
        if problem:
            return problem
    return None


def sort_of(problem):
    """What a problem is about, without its values: shrinking must not wander off to another one."""
    lines = problem.splitlines()
    first = lines[0]
    if "the rows are not" in first and len(lines) > 1:
        # Of which table, and whether the row is there that should not be, or the other way round.
        return lines[1].split()[1], " is None, should" in lines[1], lines[1].endswith("should be None")
    for sign in ("differ for good", "the rows are not", "newest version is", "ended with", "foreign_key_check", "integrity_check", "doctor on",
                 "still have something new", "left in", "left beside", "changed rows", "changed the cloud", "SQLite says", "tables are not", "not kept"):
        if sign in first:
            return sign
    return first


def shrink(kind, seed, steps, problem, tools, most=150):
    sort, tries = sort_of(problem), [0]

    def failing(candidate):
        tries[0] += 1
        if tries[0] > most:
            return None
        found = fails(kind, seed, candidate, tools)
        return found if found and sort_of(found) == sort else None

    best, said = list(steps), problem
    size = max(1, len(best) // 2)
    while size >= 1:
        position = 0
        while position < len(best):
            part = best[position:position + size]
            rest = best[:position] + [step for step in part if step.get("fixed")] + best[position + size:]
            found = failing(rest) if len(rest) < len(best) else None
            if found:
                best, said = rest, found
            else:
                position += size
        size //= 2
    for index, step in enumerate(best):
        while len(step.get("ops", [])) > 1:
            smaller = next((candidate for candidate in ([op for op in step["ops"] if op is not gone] for gone in step["ops"])
                            if failing(best[:index] + [dict(step, ops=candidate)] + best[index + 1:])), None)
            if smaller is None:
                break
            step = dict(step, ops=smaller)
            best = best[:index] + [step] + best[index + 1:]
    return best, said
