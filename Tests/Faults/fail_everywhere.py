#!/usr/bin/env python3
"""Fails every system call of snapsync's runs, once and for ever after, and sees that no failure passes for success.

usage: fail_everywhere.py SNAPSYNC [--each N | --drawn] [--sample N] [--only TEXT] [--jobs N] [--seed N]

For each scenario a clean run is traced. Its calls fall into groups: one kind of call about one file. Each group meets each error that
such a call can give, once and from then on; `--each N` tries so many calls of a group with each (default: all of them), `--drawn` every
call with one of them. Besides, writes fall short, and what gives or takes a name is done and reported as failed, as NFS may. After each run:

  silent         exit 0, and the work is not done; or an end by a signal, or no word on standard error
  wrong code     an exit code that is not that of the cause (docs/running.md)
  lost, half     as kill_everywhere.py says: the old versions are whole for every other reader, and no import is half
  synced again   after a failed fsync, another one on the same file of the cloud
  not converged  the same command again, without faults, fails or comes to something else; and orphans, as kill_everywhere.py says

Linux on x86-64.
"""
import errno, re, sys
from figures import Figures
from workshop import Workshop, options

COLUMNS = ["calls", "groups", "failed", "refused", "done", "continued", "silent", "code", "lost", "half", "again", "converged", "orphans"]
HEADINGS = {
    "failed": "points tried", "refused": "ended with an error", "done": "did the work all the same", "silent": "silent", "code": "wrong code", "lost": "versions lost",
    "half": "half imports", "again": "synced again", "converged": "not converged", "orphans": "orphans left"}
WRONG = ["silent", "code", "lost", "half", "again", "converged", "orphans"]

# What each kind of call can give.
ERRORS = {
    "open": "EIO ENOSPC EDQUOT EROFS ESTALE EACCES EMFILE EINTR", "read": "EIO ESTALE EINTR", "write": "EIO ENOSPC EDQUOT EROFS ESTALE EINTR",
    "sync": "EIO ENOSPC EDQUOT EROFS ESTALE EINTR", "close": "EIO ENOSPC EDQUOT ESTALE EINTR", "link": "EIO ENOSPC EDQUOT EROFS ESTALE EACCES",
    "rename": "EIO ENOSPC EDQUOT EROFS ESTALE EACCES", "unlink": "EIO ENOSPC EDQUOT EROFS ESTALE EACCES", "mkdir": "EIO ENOSPC EDQUOT EROFS ESTALE EACCES",
    "list": "EIO ESTALE", "stat": "EIO ESTALE EACCES", "size": "EIO ENOSPC EDQUOT EROFS EINTR", "lock": "EIO ENOLCK EINTR", "map": "ENOMEM",
}
# Calls that a network file system may have made although it reports a failure.
LATE = {"link", "rename", "unlink", "mkdir"}
# The exit codes that are right for a cause, besides 0 where the work was done all the same.
CODES = {
    "EIO": {74}, "ENOSPC": {74}, "EDQUOT": {74}, "ESTALE": {69, 75}, "EMFILE": {74}, "ENOMEM": {74}, "EROFS": {74, 77}, "EACCES": {77},
    "ENOLCK": {74}, "EINTR": {74, 75}, "short": set()}
# SQLite keeps most reasons to itself, calls a database damaged that the disk fails to read, and one locked where no lock is to be had.
CODES_OF_SQLITE = {"EACCES": {74}, "ESTALE": {74}, "EIO": {65}, "ENOLCK": {75}}
# And what it makes of a call, whatever its error: a file that it cannot look at counts as moved away, a lock that it cannot get as held.
CODES_OF_SQLITE_CALLS = {"stat": {77}, "lock": {75}}
OF_SQLITE = re.compile(r"\.db(-journal|-wal|-shm|\.snapsync-lock)?$")
TOLD = "set aside; snapsync pending"


def group(call):
    """What calls are taken together: of one kind, about one file, whatever its random name."""
    target = re.sub(r"[0-9a-f]{8,}", "*", call.target.rpartition("/snapsync-faults-")[2].partition("/")[2].partition("/")[2] or call.target)
    return call.kind, call.name, re.sub(r"\d+", "#", target)


class Failer:
    def __init__(self, workshop, figures, each):
        self.workshop, self.figures, self.each = workshop, figures, each

    def torture(self, scenario, scene, judge):
        clean = self.workshop.clean(scenario, scene, judge)
        points, groups = self.points(clean.calls)
        self.figures.highest(scenario.name, "calls", len(clean.calls))
        self.figures.highest(scenario.name, "groups", groups)
        for point, found in self.workshop.each(lambda point: self.fail(scenario, scene, judge, point), self.workshop.sample(points)):
            if found is None:
                continue
            counts, call, problems = found
            self.figures.add(scenario.name, failed=1, **counts)
            where = "%s at %s %d%s (%s %s)" % (point[2], point[0], point[1], point[3], call.name, call.target.rpartition("/")[2])
            for kind, text in problems:
                self.figures.problem(scenario.name, where, kind, text)

    def points(self, calls):
        """Kind of call, number among those, error, and how: once (``), for ever (`+`) or done and reported as failed (`~`)."""
        numbers, groups, points = {}, {}, []
        for call in calls:
            numbers[call.kind] = numbers.get(call.kind, 0) + 1
            groups.setdefault(group(call), []).append(numbers[call.kind])
        for (kind, _, _), found in groups.items():
            for name in ERRORS.get(kind, "").split() + (["short"] if kind == "write" else []):
                # A signal that interrupts for ever is none.
                for how in ([""] if name == "EINTR" else ["", "+"]) + (["~"] if kind in LATE and name == "EIO" else []):
                    chosen = found if not self.each else self.workshop.chance.sample(found, min(self.each, len(found)))
                    points += [(kind, number, name, how) for number in chosen]
        if self.workshop.options.drawn:
            points = self.drawn(points)
        return points, len(groups)

    def drawn(self, points):
        """Of each call one point with a failure that does not last, and one with a failure that does."""
        calls = {}
        for point in points:
            calls.setdefault((point[0], point[1], point[3] == "+"), []).append(point)
        return [self.workshop.chance.choice(found) for found in calls.values()]

    def fail(self, scenario, scene, judge, point):
        """How the run ended and what is wrong after it; None if it never came to that call."""
        kind, number, name, how = point
        words = ["-c", kind, "-s" if name == "short" else "-l" if how == "~" else "-f", number] + (["-o"] if how == "+" else [])
        if name != "short":
            words += ["-e", getattr(errno, name)]
        with self.workshop.copy(scene) as copy:
            run = self.workshop.inject(scenario, copy, *words)
            hit = next((call for call in run.calls if call.done != "-"), None)
            if hit is None:
                return None
            counts = {"refused": int(run.status != 0), "done": int(run.status == 0)}
            is_local = how == "+" or bool(OF_SQLITE.search(hit.target)) or copy.path.startswith(hit.target)
            allowed = CODES[name] | (CODES_OF_SQLITE.get(name, set()) | CODES_OF_SQLITE_CALLS.get(hit.kind, set()) if is_local else set())
            problems = self.ending(run, allowed, judge, copy)
            # One that a signal has interrupted has not failed.
            problems += self.synced_again(run.calls) if name != "EINTR" else []
            for one, texts in judge.at_rest(copy)[0].items():
                problems += [(one, text) for text in texts[:1]]
            if name in ("EIO", "short") or TOLD in run.output:
                counts["continued"] = 1
                for one, texts in judge.after_next_runs(copy).items():
                    problems += [(one, text) for text in texts[:1]]
            return counts, hit, problems

    @staticmethod
    def ending(run, allowed, judge, scene):
        if run.status == 0:
            why = judge.is_done(scene)
            # A message that cannot be read stops nothing: it is told, and stays for the next run.
            return [("silent", "exit 0, and " + why)] if why and TOLD not in run.output else []
        if run.status < 0:
            return [("silent", "signal %d" % -run.status)]
        if not run.errors.strip():
            return [("silent", "exit %d without a word" % run.status)]
        return [] if run.status in allowed else [("code", "exit %d: %s" % (run.status, run.errors.strip().splitlines()[0]))]

    @staticmethod
    def synced_again(calls):
        """A file of the cloud whose fsync failed may be dropped and written anew, but not synced as if nothing had happened."""
        failed = set()
        for call in calls:
            if call.kind == "sync" and "/cloud/" in call.target:
                if call.identity in failed:
                    return [("again", call.target)]
                # A directory may be synced again: what it failed for was given up, and the next name in it is another matter.
                if call.done == "failed" and "#" in call.target:
                    failed.add(call.identity)
        return []


def main():
    parser = options(__doc__.splitlines()[0])
    parser.add_argument("--each", metavar="N", type=int, help="so many calls of each group with each error, instead of all")
    parser.add_argument("--drawn", action="store_true", help="every call, but with one error of those that it can give, drawn by the seed")
    arguments = parser.parse_args()
    figures = Figures(COLUMNS, WRONG)
    with Workshop(arguments) as workshop:
        for scenario, scene, judge in workshop.scenarios():
            Failer(workshop, figures, arguments.each).torture(scenario, scene, judge)
            print("%s: %s" % (scenario.name, figures.rows[scenario.name]), file=sys.stderr, flush=True)
    is_well = figures.show(HEADINGS)
    sys.exit(0 if is_well and all(row["failed"] > 0 for row in figures.rows.values()) else 1)


if __name__ == "__main__":
    main()
