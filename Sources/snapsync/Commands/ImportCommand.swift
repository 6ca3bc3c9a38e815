import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync import`: imports a version or a container file.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import the newest version, an older one, or a container file.",
        discussion: """
            Imports the newest version into the database, delete-then-insert in one transaction: other programs see the old data until the \
            commit, and never a mixture. If the database has that version already, nothing changes. --version and --file at a reader are a \
            view: status shows it, sync does not end it, a plain import does. At a writer or peer --version is refused, and a file becomes \
            the next version. A file in FILE.snapsync-kept only adds its rows to those of its own database: rows that the table lacks, and later \
            ones. At a peer an import merges (docs/merging.md) and publishes nothing.

            If the zone ends before the version of this database, or has another commit in that version's place, it is refused (65): \
            somebody put an older copy of the directory back, or mounted another one. If that was meant, as after a restore from a backup, \
            run import --accept-rollback N on each device. N must be the zone's newest version, and the zone must really have been put \
            back, or the command ends with 78 and has changed nothing. The data become version N. Changes that are in no version yet stay \
            tracked, and are merged as always. The command keeps the earlier data as a copy beside the database, and undo \
            brings it back. Messages that only the lost versions had answered are applied again if they are still in the mailbox.

            EXAMPLES
              snapsync import --db watch.db
              snapsync import --db watch.db --version 12
              snapsync import --db watch.db --allow-shrink notifications
              snapsync import --db watch.db --accept-rollback 12
              snapsync import --db any.db --file notifications.json.gz
            """)

    @OptionGroup var database: DatabaseOptions
    @Option(name: .long, help: ArgumentHelp("Show that version instead of the newest.", valueName: "n"), completion: Completions.versions)
    var version: Int?
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Import a container from a file, gzip or plain JSON, made by snapsync or another program, without any cloud and without init.
            """, valueName: "file"),
        completion: .file())
    var file: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            With --file, for a database that init has not set up: its dataset file. Default: the built-in datasets.
            """, valueName: "file"), completion: .file())
    var datasets: String?
    @Flag(name: .long, help: "With --file: take it although its syncTimestamp is older than that of the data here.")
    var acceptOlder = false
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Take that version, the newest of a zone that was put back to an older state on purpose. What is here is kept as a copy.", valueName: "n"))
    var acceptRollback: Int?
    @OptionGroup var shrinking: ShrinkOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard version == nil || file == nil else { throw ValidationError("Give --version or --file, not both.") }
        guard acceptRollback == nil || (version == nil && file == nil && shrinking.allowShrink.isEmpty) else {
            throw ValidationError("--accept-rollback goes with neither --version, --file nor --allow-shrink.")
        }
        guard [version, acceptRollback].allSatisfy({ $0.map { $0 >= 1 } ?? true }) else { throw ValidationError("Versions are numbered from 1.") }
        guard shrinking.allowShrink.isEmpty || (version == nil && file == nil) else {
            throw ValidationError("--allow-shrink belongs to an import of the newest version.")
        }
        guard file != nil || (datasets == nil && !acceptOlder) else { throw ValidationError("--datasets and --accept-older belong to --file.") }
    }

    func run() async throws {
        let engine = try database.prepare(output)
        if let acceptRollback { return try await accept(acceptRollback, engine) }
        try await Self.run(printer: output.printer) { progress in
            if let file { return try await engine.importFile(file, datasets: datasets, acceptsOlder: acceptOlder, progress: progress) }
            if let version { return try await engine.importVersion(version, progress: progress) }
            return try await engine.importNewest(allowing: shrinking.approval, progress: progress)
        }
    }

    /// Imports the newest version and prints the result.
    static func run(_ engine: SyncEngine, printer: Printer) async throws {
        try await run(printer: printer) { try await engine.importNewest(progress: $0) }
    }

    private static func run(printer: Printer, _ work: (ProgressHandler?) async throws -> ImportReport) async throws {
        try await printer.work("import") { progress in
            let report = try await work(progress)
            try printer.done(report, report.lines)
        }
    }
}

extension ImportCommand {
    private func accept(_ number: Int, _ engine: SyncEngine) async throws {
        try await output.printer.work("import") { progress in
            let report = try await engine.acceptRollback(to: number, progress: progress)
            let copy =
                "  what was here, version \(report.versionBefore) and the changes since, is copy \(report.keptCopy) in \(try database.file.path()).snapsync-kept; snapsync undo brings it back"
            try output.printer.done(report, report.imported.lines + [copy])
        }
    }
}

extension ImportReport {
    /// What was replaced.
    var lines: [String] {
        guard applied else {
            if let view { return ["showing \(view); sync leaves it, snapsync import ends it"] }
            return ["version \(version ?? 0) is here already; nothing was changed"] + notes
        }
        let source = version.map { "version \($0)" } ?? "the file"
        return ["imported \(source)" + (view == nil ? "" : " as a view; snapsync import goes back to the newest")]
            + datasets.map { one in
                let files = one.changeFiles ?? 0
                let changes = files == 0 ? "" : " (\(Format.count(files, "change asset")))"
                let differing = "\(Format.count(one.blocksFetched ?? 0)) of \(Format.count(one.blocks ?? 0, "block"))"
                let part = changes + (one.blocksFetched == one.blocks ? "" : " (\(differing) differed)")
                return "  \(one.name): \(Format.entities(one.recordCount)) of \(one.syncTimestamp), from \(Format.bytes(one.size))\(part)"
            }
            + notes
    }

    private var notes: [String] { warnings.map { "  warning: \($0)" } + Format.conflicts(conflictReasons) }
}
