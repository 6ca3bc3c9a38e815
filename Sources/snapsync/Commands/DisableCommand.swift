import ArgumentParser
import SnapshotSync

/// `snapsync disable`: turns sync off.
struct DisableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Turns sync off for this database, from the next step of any run on.",
        discussion: """
            The database stays as it is, changes go on being noted, and nothing is read from or sent to the cloud until snapsync enable.

            EXAMPLE
              snapsync disable --db phone.db
            """)

    @OptionGroup var database: DatabaseFile
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let report = try await SyncEngine.ofCommand(database: path).gate.turn(on: false)
            try output.printer.print(report, report.lines(of: path))
        }
    }
}
