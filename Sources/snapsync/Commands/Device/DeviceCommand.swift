import ArgumentParser
import SnapshotSync

/// `snapsync device`: manages the names of a zone's devices.
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "Rename this device, or remove a device that is gone from the zone's list.",
        discussion: """
            To list the devices of the zone, run snapsync status.

            EXAMPLES
              snapsync device rename kitchen --db watch.db
              snapsync device forget old-phone --db desk.db
            """,
        subcommands: [DeviceRenameCommand.self, DeviceForgetCommand.self])
}

/// `snapsync device forget`: removes a device that no longer exists from the zone's list.
struct DeviceForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Remove a device that is gone for good from the zone's list.",
        discussion: """
            Remove the device's reports, so that status and doctor no longer list it, and free its name. Its versions and edits are kept. \
            If the device syncs again, it is listed again. You cannot forget this device, or the publisher of a zone with one publisher.

            EXAMPLE
              snapsync device forget old-phone --db desk.db
            """)

    @Argument(help: "The device's name, as status prints it.")
    var name: String
    @OptionGroup var options: EngineArguments

    func run() async throws {
        try await options.done { engine, _ in
            let report = try await engine.forgetDevice(name)
            return (
                report,
                ["zone \(report.zone) no longer lists \(report.device), which had \(report.version.map { "version \($0)" } ?? "no version")"]
            )
        }
    }
}

/// `snapsync device rename`: renames this device.
struct DeviceRenameCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename",
        abstract: "Rename this device in its zone.",
        discussion: """
            Unpublished changes and undecided edits are kept. The reports under the old name are removed. The new name must be unused in \
            the zone. You cannot rename the publisher of a zone with one publisher, or a device in a signed zone.

            EXAMPLE
              snapsync device rename kitchen --db watch.db
            """)

    @Argument(help: "The new name.")
    var name: String
    @OptionGroup var options: EngineArguments

    func run() async throws {
        try await options.done { engine, _ in
            let report = try await engine.renameDevice(to: name)
            return (
                report,
                ["\(report.database) is the device \(report.device) of zone \(report.zone) from now on; it was \(report.previousDevice)"]
                    + report.warnings.map { "  warning: \($0)" }
            )
        }
    }
}
