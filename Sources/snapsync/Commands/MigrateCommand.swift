import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync migrate`: imports the old layout, one JSON file per record, into the tables.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Import records of the old layout, one JSON file each, into a writer's tables.",
        discussion: """
            The next sync publishes the rows. docs/from-cloudkit.md describes the layout and the rules.

            EXAMPLES
              snapsync migrate --db phone.db --from old/ --dry-run
              snapsync migrate --db phone.db --from old/
            """)

    @OptionGroup var database: DatabaseFile
    @Option(name: .long, help: ArgumentHelp("The folder with the old records.", valueName: "dir"), completion: .directory)
    var from: String
    @Flag(name: .long, help: "Skip files that cannot be imported. Default: such a file stops the command.")
    var skipBad = false
    @Flag(name: .long, help: "Show what would be imported, list every bad file, and change nothing.")
    var dryRun = false
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.work("migrate") { _ in
            let report = try await SyncEngine.ofCommand(database: path).migrate(from: from, skipsBad: skipBad, isDryRun: dryRun)
            try output.printer.done(report, isIrreplaceable: dryRun, report.lines)
            if let refusal = report.refusal, !skipBad { throw refusal }
        }
    }
}

extension MigrationReport {
    /// The result for the files.
    var lines: [String] {
        let verb = isDryRun ? "would bring" : "brought"
        let counts = datasets.map { one in
            var parts = ["\(Format.count(one.added)) added", "\(Format.count(one.replaced)) replaced"]
            if one.older > 0 { parts.append("\(Format.count(one.older)) not later than what is here") }
            if one.duplicates > 0 { parts.append("\(Format.count(one.duplicates)) not later than another file") }
            let fields = one.unknownFields.isEmpty ? "" : "; unknown fields left out: \(one.unknownFields.joined(separator: ", "))"
            return "  \(one.name): \(parts.joined(separator: ", ")) of \(Format.count(one.files)) files\(fields)"
        }
        return ["\(database): \(verb) over what is in \(directory)"] + (counts.isEmpty ? ["  no records"] : counts)
            + badFiles.map { "  bad: \($0.file): \($0.reason)" } + otherFiles.map { "  no record: \($0)" }
    }
}
