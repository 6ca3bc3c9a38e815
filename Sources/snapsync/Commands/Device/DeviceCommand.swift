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

/// `snapsync device forget`: removes a device that no longer exists from the zone's list.
struct DeviceForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Remove a device that is gone for good from the zone's list.",
        discussion: """
            It removes what the device reported; then status and doctor no longer say that the device is behind, and its name is free. \
            Nothing that the device published or sent is removed. If the device syncs again, it is on the list again. This device and the \
            one publisher of a zone are refused (78), a name that nobody has reported under ends with 66.

            EXAMPLE
              snapsync device forget old-phone --db desk.db
            """)

    @Argument(help: "The device's name, as status lists it.", completion: Completions.devices)
    var name: String
    @OptionGroup var database: DatabaseFile
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let report = try await SyncEngine.ofCommand(database: path).forgetDevice(name)
            try output.printer.done(
                report,
                ["zone \(report.zone) no longer lists \(report.device), which had \(report.version.map { "version \($0)" } ?? "no version")"])
        }
    }
}

/// `snapsync device rename`: renames this device.
struct DeviceRenameCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename",
        abstract: "Rename this device in its zone.",
        discussion: """
            Changes that are not published and messages without an answer stay. What the device reported under the old name is removed. A \
            name that another device has reported under is refused (78), and so is renaming the one publisher of a zone, because the zone \
            keeps that name.

            EXAMPLE
              snapsync device rename kitchen --db watch.db
            """)

    @Argument(help: "The new name.")
    var name: String
    @OptionGroup var database: DatabaseFile
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let report = try await SyncEngine.ofCommand(database: path).renameDevice(to: name)
            try output.printer.done(
                report,
                ["\(report.database) is the device \(report.device) of zone \(report.zone) from now on; it was \(report.previousDevice)"]
                    + report.warnings.map { "  warning: \($0)" })
        }
    }
}
