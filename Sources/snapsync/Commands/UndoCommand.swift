import ArgumentParser
import SnapshotSync

/// `snapsync undo`: restores the data that the last restore or replace replaced.
struct UndoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Restore the data that the last restore, replace or undo replaced.",
        discussion: """
            The next sync publishes these changes. status says what undo would bring back.

            EXAMPLE
              snapsync undo --db phone.db
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let engine = try database.prepare(output)
        try await output.printer.work("undo") { progress in
            let report = try await engine.undo(progress: progress)
            try output.printer.done(report, report.lines)
        }
    }
}
