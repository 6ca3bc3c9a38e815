import ArgumentParser
import SnapshotSync

/// `snapsync share approve`: a device that asks for it may share and comment.
struct ShareApproveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "approve",
        abstract: "Let a device that requested it share and comment in a signed zone.",
        discussion: """
            It shows the words of the device's keys and asks on a terminal whether they are those that the device has printed; without a \
            terminal and --yes it refuses (78). Run it on a member (78). A device that has not asked ends with 66.

            EXAMPLE
              snapsync share approve ben --cloud /mnt/share/cloud
            """)

    @Argument(help: "The device's name, as share members shows it.")
    var name: String
    @Flag(name: .long, help: "The words were compared already: do not ask.")
    var yes = false
    @OptionGroup var share: ShareOptions
    @OptionGroup var device: ShareDeviceOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await output.printer.run(.announce) {
            let members = try await share.members(as: device.device)
            let words = try members.compared(name, yes: yes, list: "snapsync share members")
            let report = try await share.sharing(as: device.device).approveMember(name, fingerprint: words)
            try output.printer.done(
                report, ["\(report.device) may share and comment in zone \(report.zone) from version \(report.version) on: \(report.fingerprint)"])
        }
    }
}
