import ArgumentParser
import SnapshotSync

/// `snapsync share members`: who shares and comments in a signed zone, and who asks for it.
struct ShareMembersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "members",
        abstract: "List who may share and comment in a signed zone, and the devices that requested it.",
        discussion: """
            Ends with 78 where the zone is not signed.

            EXAMPLE
              snapsync share members --cloud /mnt/share/cloud
            """)

    @OptionGroup var share: ShareOptions
    @OptionGroup var device: ShareDeviceOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await output.printer.run(.fetch) {
            let report = try await share.members(as: device.device)
            try output.printer.print(report, report.lines(approving: "snapsync share approve NAME"))
        }
    }
}
