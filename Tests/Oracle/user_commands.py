"""The steps that are commands of the user's, and those that change nothing but the world around."""
import model
import versions
from follower import Failed, describe

LOOKS = (["plan"], ["status"], ["verify", "--local"], ["doctor"], ["history"], ["messages"])


class UserCommands:
    def do_command(self, step):
        """A command of the user's: `step["command"]`; BACK is a version so many before the newest."""
        name, newest, now = step["device"], self.devices.newest(), self.devices.now(step["device"], step["at"])
        version = max(1, newest - step.get("back", 0))
        line = [str(version) if part == "BACK" else part for part in step["command"]]
        result = self.devices.run(name, step["at"], *line)
        command = line[:2] if line[0] == "replace" else line[:1]
        codes, action = self.meaning(step, command, version, now, result)
        self.expect(step, result, codes)
        self.look(name)
        if result.code != 0:
            # A command that ended otherwise has changed nothing, or has imported what is new; one that may not publish may have let return what was set aside.
            action = lambda world: model.distinct([
                after for between in [world] + model.bring(world, name, now)
                for after in [between] + (model.bring_back(between, name) if command == ["export"] else [])])
        if name in self.bare or name in self.off:
            action = lambda world: [world]
        elif step["command"][0] in ("restore", "undo", "replace") and any(world.devices[name].aside for world in self.worlds):
            self.give_up("versions with rows set aside")
        self.follow(action, describe(step))

    def meaning(self, step, command, version, now, result):
        """The exit codes that a command may have, and what it does."""
        name = step["device"]
        codes = self.codes(name, step["at"])
        if codes == {78}:
            return codes | ({0} if command[0] == "prune" else set()), lambda world: [world]
        if command == ["import"]:
            return {0}, lambda world: model.bring(world, name, now)
        if command == ["export"]:
            behind = not self.exact or any(world.devices[name].version != world.number for world in self.worlds)
            return codes | ({75} if behind else set()), lambda world: model.export(world, name, now)
        if command == ["restore"]:
            return codes | ({66} if self.pruned else set()), lambda world: versions.restored(world, name, version, now, step["n"])
        if command == ["undo"]:
            nothing = not self.exact or any(world.devices[name].undo is None for world in self.worlds)
            return codes | ({66} if nothing or self.pruned else set()), lambda world: versions.undone(world, name, now, step["n"])
        if command == ["replace", "cloud"]:
            return codes, lambda world: versions.replaced_cloud(world, name, now, step["n"])
        if command == ["replace", "local"]:
            return {0}, lambda world: versions.replaced_local(world, name, now)
        if command[0] == "prune":
            self.pruned = True
            return codes | {66, 75}, lambda world: versions.pruned(world, name, now)
        return codes | {75} | ({66} if self.pruned or command == ["unpin"] else set()), lambda world: versions.without_data(world, name, now)

    def do_look(self, step):
        """A command that only looks: it must change nothing."""
        name = step["device"]
        before, files = self.devices.rows(name), self.devices.cloud_files()
        result = self.devices.run(name, step["at"], *step["command"])
        codes = {0, 65, 66, 74, 75, 78} if step["command"][0] == "doctor" or self.devices.newest() == 0 or name in self.off | self.bare else {0}
        # The version that a device has, which `verify --local` compares its rows with, may have been pruned, or the device has none yet.
        has_none = self.pruned or not self.exact or any(world.devices[name].version is None for world in self.worlds)
        self.expect(step, result, codes | ({66} if has_none and "--local" in step["command"] else set()))
        if self.devices.rows(name) != before:
            raise Failed("%s changed rows" % describe(step))
        after = self.devices.cloud_files()
        if after != files:
            changed = sorted(path for path in set(files) | set(after) if files.get(path) != after.get(path))
            raise Failed("%s changed the cloud: %s" % (describe(step), ", ".join(changed)))

    def do_age(self, step):
        self.devices.age(step["days"])

    def do_clock(self, step):
        self.devices.offsets[step["device"]] = step["offset"]

    def do_enable(self, step):
        result = self.devices.run(step["device"], step["at"], "enable", "--yes")
        self.expect(step, result, {78, 66} if step["device"] in self.bare else {0})
        self.off.discard(step["device"])

    def do_disable(self, step):
        result = self.devices.run(step["device"], step["at"], "disable")
        self.expect(step, result, {78, 66} if step["device"] in self.bare else {0})
        if step["device"] not in self.bare:
            self.off.add(step["device"])
