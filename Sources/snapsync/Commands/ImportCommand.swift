import ArgumentParser
import CommandSupport
import SnapshotSync
import StrictText

/// `snapsync import`: imports the newest version or a container file.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import the newest version or a container file.",
        discussion: """
            Import the newest version in one transaction. Other programs see the old rows or the new ones, never a mixture. On a peer an \
            import merges (docs/merging.md). import never publishes.

            On a writer or peer, a file becomes the next version. A reader refuses it without --add. With --add, the rows of a file are edits \
            of this device, on every role: only rows that the table lacks or has in an earlier form. A file from FILE.snapsync-kept is always \
            added. To look at an older version, use show or diff. restore goes back to one.

            With --replace, import the newest version and drop the changes of this device. The dropped data are saved, and messages about \
            them that are not decided yet are withdrawn. undo reverses that. The command asks for confirmation. Without a terminal, pass \
            --yes.

            If the zone was restored to an older state, or another folder is mounted, import refuses. If you restored it on purpose, run \
            import --accept-rollback N on each device, where N is the zone's newest version. Without such a restore, it refuses. \
            Unpublished edits are kept and merged. The earlier data are saved beside the database, and undo restores them.

            EXAMPLES
              snapsync import watch.db
              snapsync import watch.db --allow-shrink notifications
              snapsync import watch.db --accept-rollback 12
              snapsync import any.db --file notifications.json.gz
              snapsync import phone.db --file old.json --add
              snapsync import watch.db --replace --yes
            """)

    @OptionGroup var options: EngineArguments
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Import a JSON container from this file, gzip or plain. This needs neither a shared folder nor init.", valueName: "file"),
        completion: .file())
    var file: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "With --file, for a database that is not set up: its dataset file. Default: the built-in datasets.", valueName: "file"), completion: .file())
    var datasets: String?
    @Flag(name: .long, help: "With --file: import it even if its syncTimestamp is older than that of the database.")
    var acceptOlder = false
    @Flag(name: .long, help: "With --file: add the rows that the table lacks or has in an earlier form. Default: the table then has the file's rows alone.")
    var add = false
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Accept this version, the newest of a zone that was restored on purpose. The current data are saved as a copy.
            """, valueName: "n"))
    var acceptRollback: Int?
    @Flag(name: .long, help: "Replace this device's data by the shared data.")
    var replace = false
    @OptionGroup var confirmation: ConfirmationOption
    @OptionGroup var shrinking: ShrinkOptions

    func validate() throws {
        guard !replace || file == nil && acceptRollback == nil && shrinking.allowShrink.isEmpty else {
            throw ValidationError("--replace cannot be combined with --file, --accept-rollback or --allow-shrink.")
        }
        if replace { try confirmation.validate(for: "replace this device's data") }
        guard acceptRollback == nil || (file == nil && shrinking.allowShrink.isEmpty) else {
            throw ValidationError("--accept-rollback cannot be combined with --file or --allow-shrink.")
        }
        guard acceptRollback.map({ $0 >= 1 }) ?? true else { throw ValidationError("Version numbers start at 1.") }
        guard shrinking.allowShrink.isEmpty || file == nil else {
            throw ValidationError("--allow-shrink requires an import of the newest version.")
        }
        guard file != nil || (datasets == nil && !acceptOlder && !add) else { throw ValidationError("--datasets, --accept-older and --add require --file.") }
        guard !add || (datasets == nil && !acceptOlder) else { throw ValidationError("--add cannot be combined with --datasets or --accept-older.") }
    }

    func run() async throws {
        if let acceptRollback { return try await accept(acceptRollback) }
        if replace { return try await replaceLocal() }
        try await options.done("import") { engine, progress in
            let report =
                if let file {
                    try await engine.importFile(file, datasets: datasets, acceptsOlder: acceptOlder, adds: add, progress: progress)
                } else {
                    try await engine.importNewest(allowing: shrinking.approval, progress: progress)
                }
            return (report, report.lines)
        }
    }

    private func replaceLocal() async throws {
        try await options.run("import") { engine, progress in
            guard try confirmation.isConfirmed("Replace this device's data?") else { return }
            let report = try await engine.versions.replaceLocal(progress: progress)
            try options.printer.done(report, report.imported.lines + [RestoreReport.replaced(report.keptCopy, report.versionBefore)])
        }
    }

    private func accept(_ number: Int) async throws {
        try await options.done("import") { engine, progress in
            let report = try await engine.versions.acceptRollback(to: number, progress: progress)
            let copy =
                "  what was here, version \(report.versionBefore) and the changes since, is copy \(report.keptCopy) in \(try options.database.file.path()).snapsync-kept; \(HintCommands().complete("snapsync undo brings it back"))"
            return (report, report.imported.lines + [copy])
        }
    }
}

extension ImportReport {
    /// What was replaced.
    var lines: [String] {
        guard applied else { return ["version \(version ?? 0) is here already; nothing was changed"] + notes }
        let source = version.map { "version \($0)" } ?? "the file"
        return ["imported \(source)"]
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
