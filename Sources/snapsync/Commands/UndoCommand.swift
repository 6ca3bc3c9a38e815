import ArgumentParser
import SnapshotSync

/// `snapsync undo`: brings back what the last restore or replace has replaced.
struct UndoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Brings back the data that the last restore, replace or undo has replaced.",
        discussion: """
            By changes like any program's, which the next sync sends on. status says what would be brought back.

            EXAMPLE
              snapsync undo --db phone.db
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let engine = try database.prepare(output)
        try await output.printer.run {
            let report = try await engine.undo()
            try output.printer.print(report, report.lines)
        }
    }
}
