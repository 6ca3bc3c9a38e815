import ArgumentParser
import CommandSupport
import SnapshotSync
import StrictText

/// `snapsync log`: lists the kept versions, newest first, or the changes of one row.
struct LogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "List the zone's versions, or the changes of one row, newest first.",
        discussion: """
            With a table and a value for each column of its key, list the versions that changed that row: when, by which device, and each \
            column with its values before and after. Only what may have changed the row is read. restore brings an earlier row back.

            EXAMPLES
              snapsync log phone.db
              snapsync log phone.db notes 17
              snapsync log /mnt/share/app --limit 5 --json
            """)

    @OptionGroup var look: LookOptions
    @Argument(help: ArgumentHelp("Only the versions that changed the row with this key.", valueName: "table key"))
    var row: [String] = []
    @Option(name: .long, help: ArgumentHelp("Show at most this many versions. Default: 20, with --json all.", valueName: "n"))
    var limit: Int?
    @Flag(name: .long, help: "List all versions.")
    var all = false
    @OptionGroup(title: "Common options") var output: OutputOptions

    func validate() throws {
        guard row.count != 1 else { throw ValidationError("Pass the values of the key after the table.") }
        guard limit == nil || !all else { throw ValidationError("Choose one of --limit and --all.") }
        guard limit.map({ $0 >= 1 }) ?? true else { throw ValidationError("--limit must be at least 1.") }
    }

    func run() async throws {
        try await output.printer.run {
            if let table = row.first {
                let most = limit ?? (all || output.json ? nil : HistoryReport.usualLimit)
                let report = try await look.inspector().history(of: table, key: Array(row.dropFirst()), limit: most)
                return try output.printer.print(report, report.lines)
            }
            let report = try await look.inspector().history(limit: limit)
            try output.printer.print(report, lines: report.lines(limit: all ? .max : limit ?? HistoryReport.usualLimit))
        }
    }
}

extension HistoryReport {
    /// How many versions are listed unless more are asked for.
    static let usualLimit = 20

    /// The versions, newest first.
    func lines(limit: Int) -> [Line] {
        guard !versions.isEmpty else { return ["nothing has been published yet"] }
        let shown = versions.prefix(limit), rest = versions.count - shown.count
        let texts = shown.flatMap { lines($0) } + (rest > 0 ? ["and \(Format.count(rest, "older version")) (--all)"] : []) + pruned
        return texts.map { Line($0) }
    }

    private func lines(_ version: Version) -> [String] {
        [
            "version \(version.version)  \(version.timestamp)  by \(version.device)\(version.key == nil ? "" : ", signed")"
                + (pins.first { $0.version == version.version }.map(mark) ?? "")
        ]
            + version.saved.map(Format.record)
            + version.deleted.map { "  \($0): deleted" }
    }

    /// The pinned versions whose commits were pruned, so that they are not in the list of versions.
    private var pruned: [String] {
        pins.filter(\.isPruned).map { "version \($0.version)  \($0.timestamp)" + mark($0) }
    }

    private func mark(_ pin: Pin) -> String { "  pinned" + (pin.name.map { " (\($0))" } ?? "") }
}

extension RowHistoryReport {
    /// The changes, newest first.
    fileprivate var lines: [String] {
        let texts = changes.flatMap { one in
            ["version \(one.version)  \(one.timestamp)  by \(one.device)  \(one.change.rawValue)"]
                + one.columns.map { $0.line(one.change) }
        }
        return texts + (oldestVersion.map { ["versions before \($0) were pruned"] } ?? [])
    }
}
