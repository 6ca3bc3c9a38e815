import ArgumentParser
import SnapshotSync

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
