import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync verify`: reads versions from the commit to the last byte.
struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Checks the newest version, or all, from the commit to the last byte.",
        discussion: """
            Chain of commits, sizes, hashes, JSON, order and counts. Ends with 65 if anything is wrong, after naming all of it,
            and with 75 if a file is still arriving.
            With --restore a version is written into a temporary database, checked there by SQLite, compared with the version row by row, and
            removed again: what a restore would give. It needs room for the version in TMPDIR. The database notes when that was last done.
            snapsync schedule --verify-restore runs it every week.
            With --local, rows that refer to rows that are not there are named, too: as a warning where an application left them so.

            EXAMPLES
              snapsync verify --db phone.db --local
              snapsync verify --all --cloud /mnt/share/cloud
              snapsync verify --restore --version 12 --db phone.db
            """)

    @OptionGroup var look: LookOptions
    @Flag(name: .long, help: "Check every kept version, not only the newest.")
    var all = false
    @Flag(name: .long, help: "Also compare this database's tables, row by row, with the version that was applied.")
    var local = false
    @Flag(name: .long, help: "Restore the newest version, or --version, into a temporary database, and compare.")
    var restore = false
    @Option(name: .long, help: ArgumentHelp("With --restore: the version, kept or pinned.", valueName: "n"), completion: Completions.versions)
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
        let progress = quiet ? nil : ProgressLine.handler(isJSON: output.json)
        let database = look.database.file.pathIfAny
        var printer = output.printer
        printer.isQuiet = quiet
        printer.failed = { outcome.failed($0, database: database) }
        try await printer.run {
            defer { progress?.line.clear() }
            guard !restore else {
                let report = try await look.inspector().checkRestore(version: version, progress: progress?.handler)
                progress?.line.clear()
                return try tell(report, report.lines, notices: report.notices, problems: report.problems)
            }
            let report = try await look.inspector().verify(all: all, local: local, progress: progress?.handler)
            progress?.line.clear()
            try tell(report, report.lines, notices: report.notices, problems: report.problems)
            if let first = report.arriving.first { throw failure(.tryAgainLater, first) }
        }
        outcome.succeeded()
    }

    /// Prints a report, or with `--quiet` what of it deserves attention.
    ///
    /// - Throws: an exit code of 65 if there are problems.
    private func tell(_ report: some Encodable, _ lines: [String], notices: [String], problems: [String]) throws {
        if quiet {
            for notice in notices { try StandardStream.error.write(VisibleText.escape("snapsync: \(notice)") + "\n") }
        } else {
            try output.printer.print(report, lines)
        }
        guard let first = problems.first else { return }
        throw failure(.dataRefused, problems.count == 1 ? first : "\(first), and \(Format.count(problems.count - 1, "more problem"))")
    }

    /// The end of a run whose findings are printed: runs the command for failures.
    private func failure(_ code: SyncError.Code, _ reason: String) -> ExitCode {
        let error = SyncError(code, step: .verify, at: "the cloud", reason)
        outcome.failed(error, database: look.database.file.pathIfAny)
        return ExitCode(error.exitStatus)
    }
}

extension VerifyReport {
    /// What deserves attention.
    fileprivate var notices: [String] {
        warnings.map { "warning: \($0)" } + problems.map { "damaged: \($0)" } + arriving.map { "still arriving: \($0)" }
    }

    fileprivate var lines: [String] {
        sound.map {
            "sound: \($0.name), \($0.isOpened ? "\(Format.entities($0.recordCount)) in \($0.blocks == 0 ? "a change asset" : $0.blocks == 1 ? "1 block" : "\($0.blocks) blocks")" : "sealed"), \(Format.bytes($0.size)) in \($0.file)"
        }
            + (localMatches == true ? ["sound: the local tables are the applied version"] : [])
            + forks.filter(\.isHealed).map(\.sentence)
            + notices
            + [
                problems.isEmpty
                    ? (arriving.isEmpty ? "all is well" : "not all is there yet; nothing that is there is damaged") : Format.count(problems.count, "problem")
            ]
    }
}

extension RestoreCheckReport {
    /// What deserves attention.
    fileprivate var notices: [String] { warnings.map { "warning: \($0)" } + problems.map { "problem: \($0)" } }

    /// What was restored, and what is wrong with it.
    fileprivate var lines: [String] {
        ["version \(version) was restored into a temporary database, compared and removed"]
            + datasets.filter { $0.restoredCount == $0.recordCount && $0.differences == 0 }.map {
                "  \($0.name): \(Format.entities($0.recordCount)), all as in the version"
            }
            + notices + [problems.isEmpty ? "all is well" : Format.count(problems.count, "problem")]
    }
}
