import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync share comments`: lists the comments on a shared project.
struct ShareCommentsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "comments",
        abstract: "List the comments on a shared project, oldest first.",
        discussion: """
            EXAMPLES
              snapsync share comments --cloud /mnt/share/cloud --project garden
              snapsync share comments --db tracker.db --project garden --json | jq -r '.comments[].text'
            """)

    @OptionGroup var share: ShareOptions
    @OptionGroup var project: ShareProjectOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await output.printer.run(.fetch) {
            let comments = try await share.sharing().comments(on: project.project)
            let report = ShareCommentsReport(
                project: project.project, state: comments.isEmpty ? .noResults : .success, comments: comments.map(ShareCommentLine.init))
            let lines = report.comments.flatMap { ["\($0.name), \($0.postedAt?.description ?? "at an unknown time"):"] + ShareFormat.text($0.text) }
            try output.printer.print(report, lines.isEmpty ? ["no comments"] : lines)
        }
    }
}
