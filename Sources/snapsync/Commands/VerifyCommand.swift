import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync verify`: checks versions from the commit to the last byte.
struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check the newest version, or all versions, down to the last byte.",
        discussion: """
            Reads versions from the commit to the last byte and checks the chain of commits, sizes, hashes, JSON, order and counts. It \
            names every damaged or missing file, all damaged blocks of a snapshot asset, and what to do (repair), then ends with 65. A \
            file that is incomplete and was written in the last 10 minutes is still arriving (docs/cloud-directory.md): verify names it \
            and does not count it as a problem. With no other problem verify ends with 75.

            With --local it also checks the synced tables for rows that refer to rows that are not there, and names table, key and parent. \
            An application left them so, on this device or another one. That is a warning and changes no exit code. doctor finds the same \
            rows (foreignKeys). If another device has pruned the version that was applied here, there is nothing to compare with: verify \
            --local ends with 66 until the next sync.

            With --restore it writes the newest version, or --version, into a temporary database instead, whose tables it makes as the \
            version describes them. There it runs SQLite's integrity_check and looks for foreign keys that dangle, compares row counts and \
            the hashes of all blocks with the version, and removes the database. It writes nothing into the cloud. It needs room for the \
            version's rows in TMPDIR, where they lie for that time in a folder that only this user can read; those of a sealed zone in the \
            clear. If anything differs, it ends with 65 and says what. Rows that refer to missing rows were published so, and are a \
            warning. With --db the database records when that was last done, and status shows it. snapsync schedule --verify-restore runs \
            that every week.

            EXAMPLES
              snapsync verify --db phone.db --local
              snapsync verify --all --cloud /mnt/share/cloud
              snapsync verify --restore --version 12 --db phone.db
            """)

    @OptionGroup var look: LookOptions
    @Flag(name: .long, help: "Check every kept version, not only the newest.")
    var all = false
    @Flag(name: .long, help: "Also compare the database's tables, row by row, with the version that was applied, and check their foreign keys.")
    var local = false
    @Flag(name: .long, help: "Restore the newest version, or --version, into a temporary database, and compare.")
    var restore = false
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            With --restore: the version, kept or pinned. Default: the newest.
            """, valueName: "n"), completion: Completions.versions)
    var version: Int?
    @Flag(name: .long, help: "Print nothing when all is well; what is wrong, and warnings, go to standard error.")
    var quiet = false
    @OptionGroup var outcome: OutcomeOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard !restore || (!all && !local) else { throw ValidationError("--restore looks at one version: without --all and --local.") }
        guard !quiet || !output.json else { throw ValidationError("--quiet is for people, --json for programs: choose one.") }
        guard version == nil || restore else { throw ValidationError("--version belongs to --restore.") }
        guard version.map({ $0 >= 1 }) ?? true else { throw ValidationError("Versions are numbered from 1.") }
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
            try output.printer.print(report, wraps: false, lines: lines)
        }
        guard let first = problems.first else { return }
        throw failure(.dataRefused, problems.count == 1 ? first : "\(first), and \(Format.count(problems.count - 1, "more problem"))")
    }

    /// The exit code of a run whose findings are printed. Also runs the command for failures.
    private func failure(_ code: SyncError.Code, _ reason: String) -> ExitCode {
        let error = SyncError(code, step: .verify, at: "the cloud", reason)
        outcome.failed(error, database: look.database.file.pathIfAny)
        return ExitCode(error.exitStatus)
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
        let own = localChanges.map { $0 == 0 ? "" : ", and \(Format.count($0, "entity", "entities")) changed here since" } ?? ""
        let local = localMatches == true ? ["sound: the local tables are the applied version\(own)"] : []
        let missing = arriving.isEmpty ? "all is well" : "not all is there yet; nothing that is there is damaged"
        return (found + local + forks.filter(\.isHealed).map(\.sentence)).map { Line($0) } + notices.map { Line($0, .attention) }
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
