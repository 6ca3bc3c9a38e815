import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync conflicts list`: lists the edits that lost.
struct ConflictsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List edits that lost and rows that are held.",
        discussion: """
            Lists the edits that lost to edits of other devices, oldest first, with the columns that lost, and the rows that are held, with \
            what is in their way. snapsync conflicts alone does the same. Which edits are kept, for how long, and on which device: docs/merging.md.

            EXAMPLES
              snapsync conflicts --db phone.db
              snapsync conflicts list --all --json --db phone.db | jq '.conflicts[].lost.entity | fromjson'
            """)

    @Flag(name: .long, help: "List those, too, that were taken or cleared. JSON always has them, with their state.")
    var all = false
    @OptionGroup var database: DatabaseFile
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let report = try SyncEngine.ofCommand(database: path).conflicts(all: all || output.json)
            try output.printer.print(report, report.lines)
        }
    }
}

extension ConflictsReport {
    /// The entries, and how many were removed from the journal.
    var lines: [String] {
        let count = "\(Format.count(open, "edit")) lost to other edits"
        return [conflicts.isEmpty ? "no edit has lost to another one" : count] + conflicts.flatMap(\.lines)
            + (held.isEmpty
                ? [] : ["\(Format.count(held.count, "row is", "rows are")) held, in no table, until \(Format.word(held.count, "it fits", "they fit"))"])
            + held.map { "  \($0.dataset) \($0.key): " + ($0.obstacles.isEmpty ? "it fits by now; run snapsync sync" : $0.obstacles.joined(separator: "; ")) }
            + (removed > 0
                ? ["  \(Format.count(removed, "older entry was", "older entries were")) removed: the journal keeps 90 days and 16 MiB"] : [])
    }
}

extension ConflictsReport.Entry {
    /// The entity, both sides, and the columns.
    var lines: [String] {
        let why = detail.map { "\(reason): \($0)" } ?? reason
        return ["  \(id)  \(dataset) \(key) (\(why))" + (state == "open" ? "" : ", \(state)"), "     lost: \(lost.sentence)", "     kept: \(kept.sentence)"]
            + columns.map { "     \($0.name): " + [$0.lost.map { "\($0) lost" }, $0.kept.map { "\($0) was kept" }].compactMap(\.self).joined(separator: ", ") }
    }
}

extension ConflictsReport.Side {
    /// What this side did, on which device, and when.
    fileprivate var sentence: String {
        "\(isDeletion ? "a deletion" : "an edit")" + (device.map { " of \($0)" } ?? "") + (at.map { ", \($0)" } ?? "")
    }
}
