import ArgumentParser
import Logging
import SnapshotSync
import StrictText

/// `snapsync open`: shows how far an application would get when it opens this database.
struct OpenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open",
        abstract: "Open a database as an application would (with its cloud, otherwise alone, otherwise in memory), and show how far that goes and why.",
        discussion: """
            Show whether an application can use the database with its shared folder, alone, or only a stand-in in memory, and why. It \
            changes nothing. The exit status is 0 if database and folder can be used, or if only the user's choice or a missing \
            entitlement prevents syncing. Otherwise it is that of the obstacle.

            EXAMPLES
              snapsync open --db board.db
              snapsync open --db board.db --container iCloud.org.example.board --json
            """)

    @OptionGroup var database: DatabaseOptions
    @Option(name: .long, help: ArgumentHelp("The application's container identifier, which the shared folder must have. Default: any.", valueName: "id"))
    var container: String?
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let path = try database.file.path()
        try await output.printer.run {
            // Log only errors, because the report contains everything else.
            var options = EngineOptions(container: container, logger: output.printer.logger)
            options.logger.logLevel = .error
            options.cloudPath = database.cloud ?? DatabaseOptions.environment("SNAPSYNC_CLOUD")
            let store = try await SnapshotStore.open(database: path, createsDatabase: false, options: options)
            let report = store.report
            try output.printer.print(report, lines(report))
            guard let step = report.givenUp.last, !step.error.identifier.exact.hasPrefix("gate.") else { return }
            throw step.error
        }
    }

    private func lines(_ report: OpeningReport) -> [String] {
        let level =
            switch report.level {
            case .cloud: "database and cloud"
            case .local: "the database alone"
            case .inMemory: "a stand-in in memory, which is never published"
            }
        return ["\(report.database): \(level)\(report.isReadOnly ? ", to read only" : "")"]
            + report.givenUp.map { "  no \($0.level == .cloud ? "cloud" : "database") (\($0.error.identifier)): \($0.error.place): \($0.error.reason)" }
    }
}
