"""The steps that are commands of the user's, and those that change nothing but the world around."""
import model
from follower import Failed, describe

LOOKS = (["plan"], ["status"], ["verify", "--local"], ["doctor"], ["history"], ["messages"])


class UserCommands:
    def do_command(self, step):
        """A prune: a version that changes no data. Whether the writer published its changes first is not said."""
        name, now = step["device"], self.devices.now(step["device"], step["at"])
        result = self.devices.run(name, step["at"], *step["command"])
        codes = self.codes(name, step["at"])
        self.expect(step, result, codes | ({0} if codes == {78} else {66, 75}))
        self.look(name)
        self.pruned = self.pruned or codes != {78}
        stopped = codes == {78} or name in self.bare or name in self.off
        self.follow((lambda world: [world]) if stopped else (lambda world: model.pruned(world, name, now)), describe(step))

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
