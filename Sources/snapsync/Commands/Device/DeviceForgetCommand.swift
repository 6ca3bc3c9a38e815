import ArgumentParser
import SnapshotSync

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
