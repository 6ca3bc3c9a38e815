#!/usr/bin/env python3
"""Kills snapsync at every system call of its runs and sees that nothing is lost.

usage: kill_everywhere.py SNAPSYNC [--sample N] [--only TEXT] [--at N] [--jobs N] [--seed N]

For each scenario a clean run is traced; then, on a fresh copy of the prepared scene each, the command is killed when it is about to
make its first call, its second, and so on until a run comes to its end. Calls count from the first look at the database on; those
are meant that deal with files and directories, SQLite's among them, in all threads together. After each kill:

  lost           a version that was there is not whole: chain, seals, sizes, hashes, gzip, JSON, counts, and the same entities
  half           a database is damaged, or holds other entities than the version that it says it has, with its own changes
  not converged  the same command again, two syncs of everybody, `check --all-versions --local`: one failed, or the data are not those edited
  orphans        temporaries, assets that no commit names or strange files, a day and a `prune` later

The last two are looked at where the disk is not as it was at the point before, which the calls made since tell. Linux on x86-64.
"""
import sys
from figures import Figures
from injection import WAS_KILLED, is_changing
from workshop import Workshop, options

COLUMNS = ["calls", "killed", "continued", "lost", "half", "converged", "orphans"]
HEADINGS = {"half": "half imports", "lost": "versions lost", "converged": "not converged", "orphans": "orphans left"}
WRONG = ["lost", "half", "converged", "orphans"]


class Killer:
    def __init__(self, workshop, figures):
        self.workshop, self.figures = workshop, figures

    def torture(self, scenario, scene, judge):
        clean = self.workshop.clean(scenario, scene, judge)
        self.figures.highest(scenario.name, "calls", len(clean.calls))
        changed = self.first_of_each_state(clean.calls)
        # Calls of several threads come in another order each time: some runs have a few more than the clean one.
        points = self.workshop.options.at or self.workshop.sample(changed if self.workshop.options.sample else range(1, len(clean.calls) + 200))
        for point, found in self.workshop.each(lambda point: self.kill(scenario, scene, judge, point, point in changed or bool(self.workshop.options.at)), points):
            if found is None:
                continue
            was_continued, call, problems = found
            self.figures.add(scenario.name, killed=1, continued=int(was_continued))
            for kind, texts in problems.items():
                for text in texts[:1]:
                    self.figures.problem(scenario.name, "killed at call %d (%s %s)" % (point, call.name, call.target.rpartition("/")[2]), kind, text)

    @staticmethod
    def first_of_each_state(calls):
        """The calls before which the disk is not as it was before the call before, and the last one."""
        return sorted({call.number + 1 for call in calls if is_changing(call) and call.number < len(calls)} | {1, len(calls)})

    def kill(self, scenario, scene, judge, point, continues):
        """What is wrong after a kill at that call; None if the run ended before."""
        with self.workshop.copy(scene) as copy:
            run = self.workshop.inject(scenario, copy, "-k", point)
            if run.status != WAS_KILLED:
                return None
            problems, _ = judge.at_rest(copy)
            if continues:
                problems.update(judge.after_next_runs(copy))
            return continues, run.calls[-1], problems


def main(kind=Workshop, without=(), description=__doc__.splitlines()[0]):
    parser = options(description)
    parser.add_argument("--at", metavar="N", type=int, action="append", help="only this call")
    arguments = parser.parse_args()
    figures = Figures(COLUMNS, WRONG)
    with kind(arguments) as workshop:
        for scenario, scene, judge in workshop.scenarios(without):
            Killer(workshop, figures).torture(scenario, scene, judge)
            print("%s: %s" % (scenario.name, figures.rows[scenario.name]), file=sys.stderr, flush=True)
    is_well = figures.show(HEADINGS)
    sys.exit(0 if is_well and all(row["killed"] > 0 for row in figures.rows.values()) else 1)


if __name__ == "__main__":
    main()
