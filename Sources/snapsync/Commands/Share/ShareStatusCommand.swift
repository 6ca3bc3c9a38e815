import ArgumentParser
import SnapshotSync

/// `snapsync share status`: shows whether a project is shared.
struct ShareStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show whether a project is shared: exists or absent.",
        discussion: """
            It fetches none of the project's fields.

            EXAMPLES
              snapsync share status --cloud /mnt/share/cloud --project garden
              test "$(snapsync share status --db tracker.db --project garden)" = exists
            """)

    @OptionGroup var share: ShareOptions
    @OptionGroup var project: ShareProjectOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await output.printer.run(.fetch) {
            let status = try await share.sharing().status(of: project.project)
            try output.printer.print(ShareStatusReport(project: project.project, zone: share.zone, status: status), [status.rawValue])
        }
    }
}
