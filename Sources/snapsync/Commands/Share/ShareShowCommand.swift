import ArgumentParser
import SnapshotModel
import SnapshotSync

/// `snapsync share show`: shows a shared project with its items.
struct ShareShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a shared project with its items.",
        discussion: """
            EXAMPLES
              snapsync share show --cloud /mnt/share/cloud --project garden
              snapsync share show --db tracker.db --project garden --json | jq '.items[].title'
            """)

    @OptionGroup var share: ShareOptions
    @OptionGroup var project: ShareProjectOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await output.printer.run(.fetch) {
            let contents = try await share.sharing().contents(of: project.project)
            let report = ShareShowReport(project: ShareProjectReport(contents.project), items: contents.items)
            try output.printer.print(report, lines(report))
        }
    }

    private func lines(_ report: ShareShowReport) -> [String] {
        [ShareFormat.line(report.project)] + ShareFormat.text(report.project.detail)
            + report.items.flatMap { ["  [\($0.isCompleted ? "x" : " ")] \($0.title)"] + ShareFormat.text($0.detail, indent: 6) }
    }
}
