import ArgumentParser
import SnapshotSync

/// `snapsync share dismiss`: nothing that a device shares or says from then on counts.
struct ShareDismissCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dismiss",
        abstract: "End a device's membership of a signed zone; what it has shared is kept.",
        discussion: """
            What the device shares, replaces or says from then on is refused. Run it on a member (78). The last member stays (78).

            EXAMPLE
              snapsync share dismiss ben --cloud /mnt/share/cloud
            """)

    @Argument(help: "The member's name, as share members shows it.")
    var name: String
    @OptionGroup var share: ShareOptions
    @OptionGroup var device: ShareDeviceOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await output.printer.run(.announce) {
            let report = try await share.sharing(as: device.device).removeMember(name)
            try output.printer.done(report, ["\(report.device) may not share or comment in zone \(report.zone) any more, from version \(report.version) on"])
        }
    }
}
