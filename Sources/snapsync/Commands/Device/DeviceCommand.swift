import ArgumentParser
import SnapshotSync

/// `snapsync device`: manages the names of a zone's devices.
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "Gives this device another name, or takes a device that is gone off the zone's list.",
        discussion: """
            snapsync status lists the devices of the zone.

            EXAMPLES
              snapsync device rename kitchen --db watch.db
              snapsync device forget old-phone --db desk.db
            """,
        subcommands: [DeviceRenameCommand.self, DeviceForgetCommand.self])
}
