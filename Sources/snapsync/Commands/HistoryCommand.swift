import ArgumentParser
import SnapshotSync

/// `snapsync history`: the kept versions, newest first.
struct HistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Lists the zone's versions, newest first.",
        discussion: """
            EXAMPLES
              snapsync history --db phone.db --limit 5
              snapsync history --cloud /mnt/share/cloud --json
            """)

    @OptionGroup var look: LookOptions
    @Option(name: .long, help: ArgumentHelp("At most so many.", valueName: "n"))
    var limit: Int?
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard limit.map({ $0 >= 1 }) ?? true else { throw ValidationError("The limit must be at least 1.") }
    }

    func run() async throws {
        try await output.printer.run {
            let report = try await look.inspector().history(limit: limit)
            try output.printer.print(report, report.versions.isEmpty ? ["nothing has been published yet"] : report.versions.flatMap(lines))
        }
    }

    private func lines(_ version: HistoryReport.Version) -> [String] {
        ["version \(version.version)  \(version.timestamp)  by \(version.device)"]
            + version.saved.map(Format.record)
            + version.deleted.map { "  \($0): deleted" }
    }
}
