import ArgumentParser
import SnapshotSync

/// `snapsync share remove`: removes a project with its items and comments.
struct ShareRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a shared project with its items and comments.",
        discussion: """
            Only the device that shared it may do so (77 on any other device).

            EXAMPLES
              snapsync share remove --cloud /mnt/share/cloud --project garden
              snapsync share remove --db tracker.db --project garden --json
            """)

    @OptionGroup var share: ShareOptions
    @OptionGroup var device: ShareDeviceOptions
    @OptionGroup var project: ShareProjectOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await output.printer.run(.announce) {
            let removal = try await share.sharing(as: device.device).remove(project.project)
            let report = ShareRemoveReport(project: project.project, zone: share.zone, items: removal.itemCount, comments: removal.commentCount)
            try output.printer.done(report, ["removed \(project.project): \(ShareFormat.items(report.items)), \(ShareFormat.comments(report.comments))"])
        }
    }
}
