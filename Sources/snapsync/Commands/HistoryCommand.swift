import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync history`: lists the kept versions, newest first.
struct HistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "List the zone's versions, newest first.",
        discussion: """
            EXAMPLES
              snapsync history --db phone.db --limit 5
              snapsync history --cloud /mnt/share/cloud --json
            """)

    @OptionGroup var look: LookOptions
    @Option(name: .long, help: ArgumentHelp("Show at most this many versions. Default: 20, with --json all.", valueName: "n"))
    var limit: Int?
    @Flag(name: .long, help: "List all versions.")
    var all = false
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard limit == nil || !all else { throw ValidationError("Choose one of --limit and --all.") }
        guard limit.map({ $0 >= 1 }) ?? true else { throw ValidationError("--limit must be at least 1.") }
    }

    func run() async throws {
        try await output.printer.run {
            let report = try await look.inspector().history(limit: limit)
            try output.printer.print(report, lines: report.versions.isEmpty ? ["nothing has been published yet"] : lines(report))
        }
    }

    private func lines(_ report: HistoryReport) -> [Line] {
        let shown = report.versions.prefix(all ? .max : limit ?? Self.usualLimit), rest = report.versions.count - shown.count
        return (shown.flatMap { lines($0, of: report) } + (rest > 0 ? ["and \(Format.count(rest, "older version")) (--all)"] : []) + pruned(report)).map {
            Line($0)
        }
    }

    private static let usualLimit = 20

    private func lines(_ version: HistoryReport.Version, of report: HistoryReport) -> [String] {
        [
            "version \(version.version)  \(version.timestamp)  by \(version.device)\(version.key == nil ? "" : ", signed")"
                + (report.pins.first { $0.version == version.version }.map(mark) ?? "")
        ]
            + version.saved.map(Format.record)
            + version.deleted.map { "  \($0): deleted" }
    }

    /// The pinned versions whose commits were pruned, so that they are not in the list of versions.
    private func pruned(_ report: HistoryReport) -> [String] {
        report.pins.filter(\.isPruned).map { "version \($0.version)  \($0.timestamp)" + mark($0) }
    }

    private func mark(_ pin: HistoryReport.Pin) -> String { "  pinned" + (pin.name.map { " (\($0))" } ?? "") }
}
