"""Says what is wrong in a scene after a command was killed or failed: at rest first, then after everybody's next run."""
import os
from cloud_reader import Damage, Zone
from scene import Failure, changes_between, laid_over, together


class Judge:
    """What holds for a scenario, told from its scene as it was before the command."""

    def __init__(self, scenario, scene):
        self.scenario = scenario
        zone = Zone(scene.zone)
        self.versions = zone.versions
        states = {database: scene.state(database) for database in scenario.devices}
        self.rows = {database: rows for database, (rows, _) in states.items()}
        self.applied = {database: applied for database, (_, applied) in states.items()}
        self.own = {database: changes_between(self.versions.get(self.applied[database], {}), self.rows[database]) for database in scenario.devices}
        if scenario.is_unknown:
            self.own[scenario.at_work] = {}
        self.told = {database: together(*(self.own[other] for other in scenario.carries if other != database)) for database in scenario.devices}
        # What all devices must come to: the newest version with everybody's changes, none of which are about the same entity.
        self.goal = laid_over(self.versions.get(zone.newest, {}), together(*self.own.values()))
        self.newest = zone.newest or 0

    def at_rest(self, scene):
        """Problems by kind: `lost` versions and `half` done work. Nothing is run and nothing is changed."""
        problems = {"lost": [], "half": []}
        try:
            zone = Zone(scene.zone)
        except (Damage, OSError, ValueError, KeyError) as error:
            problems["lost"].append(str(error))
            return problems, None
        kept = set(self.versions) if self.scenario.name != "prune" else {number for number in self.versions if number >= self.newest - 1}
        for number in sorted(kept):
            if zone.versions.get(number) != self.versions[number]:
                problems["lost"].append("version %d is no longer what it was" % number)
        for database in self.scenario.devices:
            try:
                self._compare(zone, database, *scene.state(database))
            except Failure as error:
                problems["half"].append(str(error))
        return problems, zone

    def _compare(self, zone, database, rows, applied):
        own = self.own[database]
        allowed = [laid_over(zone.versions[applied], own)] if applied in zone.versions else []
        if applied == self.applied[database]:
            allowed.append(self.rows[database])
        allowed += [laid_over(state, self.told[database]) for state in list(allowed)]
        if rows not in allowed:
            wrong = changes_between(allowed[0], rows) if allowed else rows
            names = ["%s %s" % (dataset, key) for dataset, changes in wrong.items() for key in changes]
            raise Failure("%s is at version %s and holds something else: %s" % (database, applied, ", ".join(names[:5])))

    def is_done(self, scene):
        """Why the command's work is not done, though it may have said so; None if it is."""
        problems, zone = self.at_rest(scene)
        for found in problems.values():
            if found:
                return found[0]
        database = self.scenario.at_work
        rows, applied = scene.state(database)
        verb = self.scenario.line.split()[0]
        if applied != zone.newest:
            return "%s is at version %s, the zone at %s" % (database, applied, zone.newest)
        if verb == "init":
            return None if os.path.exists(os.path.join(scene.zone, "zone.json")) else "there is no zone"
        if verb == "prune":
            return None if min(zone.commits) >= self.newest - 1 else "versions from %d on are still there" % min(zone.commits)
        own = self.own[database] if database == "watch.db" and verb == "sync" else {}
        told = self.told[database] if verb == "sync" else {}
        if rows != laid_over(zone.versions[applied], own):
            return "%s does not hold version %d" % (database, applied)
        if verb == "export" and rows != self.rows[database] or verb == "sync" and database != "watch.db" and rows != laid_over(self._merged(database), told):
            return "version %d is not what was to be published" % applied
        if own and any(own.values()):
            waiting = zone.messages().get("watch", set())
            version = zone.versions[applied]
            wanted = sum(len(changes) for changes in changes_between(version, laid_over(version, own)).values())
            if len(waiting) < wanted:
                return "%d edits wait in the mailbox, %d were to be handed over" % (len(waiting), wanted)
        return None

    def _merged(self, database):
        return laid_over(self.versions.get(self.newest, {}), self.own[database])

    def _apart(self, scene, database):
        """What a database lacks of the goal, or has beyond it; None if nothing."""
        wrong = changes_between(self.goal, scene.state(database)[0])
        names = ["%s %s" % (dataset, key) for dataset, changes in wrong.items() for key in changes]
        return "%s did not come to what was edited: %s" % (database, ", ".join(names[:5])) if names else None

    def after_next_runs(self, scene):
        """Problems by kind after the same command and at most two syncs of everybody: not `converged`, and `orphans` that a day and a prune leave."""
        problems = {"converged": [], "orphans": []}
        scenario = self.scenario
        try:
            status, _, errors = scene.run(scenario.line)
            # What was done before the end is done.
            if status != 0 and not (status == 78 and "set up for syncing already" in errors):
                raise Failure("snapsync %s ended with %d: %s" % (scenario.line, status, errors.strip()))
            # In this order the goal is usually there after one round; the promise is two.
            for round in range(2):
                for database in scenario.devices[1:] or scenario.devices if round == 0 else scenario.devices:
                    scene.succeed("sync --quiet " + database)
                apart = [text for text in map(lambda database: self._apart(scene, database), scenario.devices) if text]
                if not apart:
                    break
            if apart:
                raise Failure(apart[0])
            scene.succeed("check --all-versions --local " + scenario.at_work)
            problems["orphans"] += scene.strangers(scenario.devices)
            if Zone(scene.zone).orphans():
                scene.age()
                publisher = next(database for database in scenario.devices if database != "watch.db")
                scene.succeed("prune --keep-last 1000 " + publisher)
                problems["orphans"] += Zone(scene.zone).orphans()
        except (Failure, Damage, OSError, ValueError, KeyError) as error:
            problems["converged"].append(str(error))
        return problems
