import ArgumentParser
import SnapshotSync

/// `snapsync disable`: turns sync off.
struct DisableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Turn sync off for this database, from the next step of any run on.",
        discussion: """
            Turns sync off at once: a run under way publishes nothing more. If a settings file cannot be written now, the next check \
            writes it.

            EXAMPLE
              snapsync disable --db phone.db
            """)

    @OptionGroup var database: DatabaseFile
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let report = try await SyncEngine.ofCommand(database: path).gate.turn(on: false)
            try output.printer.done(report, report.lines(of: path))
        }
    }
}
