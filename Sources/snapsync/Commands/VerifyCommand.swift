import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync verify`: checks versions from the commit to the last byte.
struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check the newest version, or all versions, down to the last byte.",
        discussion: """
            Check versions from the commit to the last byte: the chain of commits, sizes, hashes, JSON, order and counts. verify lists \
            every damaged or missing file and suggests the fix. An incomplete file that was written in the last 10 minutes is still \
            arriving. With no other problem, verify asks you to try again later.

            --local also compares the synced tables with the applied version, and warns about rows whose parents are missing. If another \
            device has pruned that version, there is nothing to compare with until the next sync.

            --restore writes a version into a temporary database, runs SQLite's integrity check there, compares row counts and block \
            hashes, and removes the database. It changes nothing in the shared folder. It needs space for the rows in TMPDIR, in a folder \
            that only you can read. The rows of a sealed zone are not encrypted there. With --db, status shows the time of the last check. \
            See docs/checks.md.

            EXAMPLES
              snapsync verify --db phone.db --local
              snapsync verify --all --cloud /mnt/share/cloud
              snapsync verify --restore --version 12 --db phone.db
            """)

    @OptionGroup var look: LookOptions
    @Flag(name: .long, help: "Check every version that is kept. Default: only the newest.")
    var all = false
    @Flag(name: .long, help: "Also compare the database with the version that was applied, row by row, and check its foreign keys.")
    var local = false
    @Flag(name: .long, help: "Restore a version into a temporary database and compare it. Default version: the newest.")
    var restore = false
    @Option(
        name: .long,
        help: ArgumentHelp(
            "With --restore: the version, kept or pinned. Default: the newest.", valueName: "n"))
    var version: Int?
    @Flag(name: .long, help: "Print only problems and warnings, on standard error.")
    var quiet = false
    @OptionGroup var outcome: OutcomeOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard !restore || (!all && !local) else { throw ValidationError("--restore checks one version. Leave out --all and --local.") }
        guard !quiet || !output.json else { throw ValidationError("Choose one of --quiet and --json.") }
        guard version == nil || restore else { throw ValidationError("--version requires --restore.") }
        guard version.map({ $0 >= 1 }) ?? true else { throw ValidationError("Version numbers start at 1.") }
    }

    func run() async throws {
        let database = look.database.file.pathIfAny
        var printer = output.printer
        printer.isQuiet = quiet
        printer.failed = { outcome.failed($0, database: database) }
        try await printer.work("verify") { progress in
            guard !restore else {
                let report = try await look.inspector().checkRestore(version: version, progress: progress)
                return try tell(report, report.lines, notices: report.notices, problems: report.problems)
            }
            let report = try await look.inspector().verify(all: all, local: local, progress: progress)
            try tell(report, report.lines, notices: report.notices, problems: report.problems)
            if let first = report.arriving.first { throw failure(.tryAgainLater, first) }
        }
        outcome.succeeded()
    }

    /// Prints a report or, with `--quiet`, only what needs attention.
    ///
    /// - Throws: an exit code of 65 if there are problems.
    private func tell(_ report: some Encodable, _ lines: [Line], notices: [String], problems: [String]) throws {
        if quiet {
            for notice in notices { try StandardStream.error.write(VisibleText.escape("snapsync: \(notice)") + "\n") }
        } else {
            try output.printer.print(report, lines: lines)
        }
        guard let first = problems.first else { return }
        throw failure(.dataRefused, problems.count == 1 ? first : "\(first), and \(Format.count(problems.count - 1, "more problem"))")
    }

    /// The exit code of a run whose findings are printed. Also runs the command for failures.
    private func failure(_ code: SyncError.Code, _ reason: String) -> ExitCode {
        let error = SyncError(code, step: .verify, at: "the cloud", reason)
        outcome.failed(error, database: look.database.file.pathIfAny)
        return ExitCode(error.code.exitStatus)
    }
}

extension VerifyReport {
    /// What needs attention.
    fileprivate var notices: [String] {
        warnings.map { "warning: \($0)" } + problems.map { "damaged: \($0)" } + arriving.map { "still arriving: \($0)" }
    }

    fileprivate var lines: [Line] {
        let found = sound.map { one in
            let blocks = one.blocks == 0 ? "a change asset" : Format.count(one.blocks, "block")
            let contents = one.isOpened ? "\(Format.entities(one.recordCount)) in \(blocks)" : "sealed"
            return "sound: \(one.name), \(contents), \(Format.bytes(one.size)) in \(one.file)"
        }
        let own = localChanges.map { $0 == 0 ? "" : ", and \(Format.count($0, "entity", or: "entities")) changed here since" } ?? ""
        let local = localMatches == true ? ["sound: the local tables are the applied version\(own)"] : []
        let missing = arriving.isEmpty ? "all is well" : "not all is there yet; nothing that is there is damaged"
        return (found + local).map { Line($0) } + notices.map { Line($0, .attention) }
            + [problems.isEmpty ? Line(missing, arriving.isEmpty ? .good : .attention) : Line(Format.count(problems.count, "problem"), .bad)]
    }
}

extension RestoreCheckReport {
    /// What needs attention.
    fileprivate var notices: [String] { warnings.map { "warning: \($0)" } + problems.map { "problem: \($0)" } }

    /// What was restored, and its problems.
    fileprivate var lines: [Line] {
        let restored = datasets.filter { $0.restoredCount == $0.recordCount && $0.differences == 0 }
        return ["version \(version) was restored into a temporary database, compared and removed"]
            + restored.map { Line("  \($0.name): \(Format.entities($0.recordCount)), all as in the version") } + notices.map { Line($0, .attention) }
            + [problems.isEmpty ? Line("all is well", .good) : Line(Format.count(problems.count, "problem"), .bad)]
    }
}
