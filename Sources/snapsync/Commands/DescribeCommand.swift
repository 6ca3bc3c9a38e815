import ArgumentParser
import SnapshotSync

/// `snapsync describe`: a dataset file made from a database.
struct DescribeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "describe",
        abstract: "Prints a dataset file for the tables of a database.",
        discussion: """
            It is what init --tables uses; save it to edit it, and pass it to init --datasets. The description goes to standard output; what
            cannot travel, what is left out and the timestamp columns that were chosen go to standard error. Nothing is changed.

            EXAMPLES
              snapsync describe --db app.db
              snapsync describe --db app.db --tables notes,tags > app.json
              snapsync describe --db app.db --skip cache --timestamp notes=edited_at
            """)

    @OptionGroup var database: DatabaseFile
    @OptionGroup var tables: TableOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let report = try SyncEngine.describe(path, tables: tables.choice())
            if output.json { return try output.printer.print(report, []) }
            if let text = report.file.text { try StandardStream.output.write(Printer.escape(json: text)) }
            try StandardStream.error.write(report.remarks.map { Printer.clean($0) + "\n" }.joined())
        }
    }
}

extension DescribeReport {
    /// What `describe` and `init` say of the tables.
    var remarks: [String] {
        var lines = unfit.map { "cannot travel: \($0.sentence)" }
        lines += leftOut.map { "left out: \($0.table)\($0.column.map { ".\($0)" } ?? "") (\($0.reason))" }
        lines += timestampLines
        return lines + notes.map { "note: \($0)" }
    }

    /// Which columns say when a row was last changed.
    var timestampLines: [String] {
        tables.compactMap { table in
            guard table.timestamp != nil || !table.otherTimestamps.isEmpty else { return nil }
            let others = table.otherTimestamps.isEmpty ? "" : "; not \(table.otherTimestamps.joined(separator: ", "))"
            return "timestamp of \(table.table): \(table.timestamp ?? "none")\(others)"
        }
    }
}
