import ArgumentParser
import SnapshotSync

/// `snapsync device`: manages the names of a zone's devices.
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "Rename this device, or remove a device that is gone from the zone's list.",
        discussion: """
            snapsync status lists the devices of the zone.

            EXAMPLES
              snapsync device rename kitchen --db watch.db
              snapsync device forget old-phone --db desk.db
            """,
        subcommands: [DeviceRenameCommand.self, DeviceForgetCommand.self])
}
