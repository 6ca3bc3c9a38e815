import ArgumentParser
import CommandSupport
import SnapshotSync
import StrictText

/// `snapsync check`: finds problems, and checks versions to the last byte.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Find problems of a database and its location, and suggest fixes; check data down to the last byte.",
        discussion: """
            Check a database and its shared folder or bucket, and print for each problem what it means and which command fixes it. check \
            changes nothing. On a publisher it tests the file system or bucket with files that it removes. While sync is off, it does not \
            access the location. Of a location alone it checks the folder, the zone and its devices.

            Each line starts with a severity: ok, notice (needs no action), warning (needs action soon) or error (syncing fails or could \
            lose data). The exit status is 0, or that of the most important warning or error. From the most important: damaged data, an \
            unavailable folder, something not found, missing permission, failed input or output, a refusal, try again later. \
            docs/checks.md lists the checks.

            With --read-data, check the newest version instead, or with --all-versions every kept version: the chain of commits, sizes, \
            hashes, JSON, order and counts. Every damaged or missing file is listed with the fix. An incomplete file that was written in the \
            last 10 minutes is still arriving. With no other problem, check asks you to try again later.

            --local also compares the synced tables with the applied version, and warns about rows whose parents are missing. If another \
            device has pruned that version, there is nothing to compare with until the next sync.

            --restore writes a version into a temporary database, runs SQLite's integrity check there, compares row counts and block \
            hashes, and removes the database. It needs space for the rows in TMPDIR, in a folder that only you can read. The rows of an \
            encrypted zone are not encrypted there. status shows the time of the last such check of a database.

            EXAMPLES
              snapsync check phone.db
              snapsync check phone.db -v
              snapsync check phone.db --read-data --local
              snapsync check /mnt/share/app --all-versions
              snapsync check phone.db --restore --at 12
            """)

    @OptionGroup var look: LookOptions
    @Flag(name: .shortAndLong, help: "Also list the checks that passed.")
    var verbose = false
    @Flag(name: .long, help: "Instead, check the newest version down to the last byte.")
    var readData = false
    @Flag(name: .long, help: "The same for every version that is kept.")
    var allVersions = false
    @Flag(
        name: .long,
        help: "With --read-data, which it implies: also compare the database with the version that was applied, row by row, and check its foreign keys.")
    var local = false
    @Flag(name: .long, help: "Instead, restore a version into a temporary database and compare it. Default version: the newest.")
    var restore = false
    @Option(name: .long, help: ArgumentHelp("With --restore: the version, kept or pinned. Default: the newest.", valueName: "n"))
    var at: Int?
    @OptionGroup var quietness: QuietOption
    @OptionGroup var outcome: OutcomeOptions
    @OptionGroup(title: "Common options") var output: OutputOptions

    private var reads: Bool { readData || allVersions || local }

    func validate() throws {
        guard !restore || !reads else { throw ValidationError("--restore checks one version. Leave out --read-data, --all-versions and --local.") }
        guard !quietness.quiet || !output.json else { throw ValidationError("Choose one of --quiet and --json.") }
        guard at == nil || restore else { throw ValidationError("--at requires --restore.") }
        guard at.map({ $0 >= 1 }) ?? true else { throw ValidationError("Version numbers start at 1.") }
        guard !verbose || !restore && !reads && !quietness.quiet else {
            throw ValidationError("--verbose cannot be combined with --quiet, --restore or --read-data.")
        }
    }

    func run() async throws {
        let database = look.database
        var printer = output.printer
        printer.isQuiet = quietness.quiet
        printer.failed = { outcome.failed($0, database: database) }
        try await printer.work("check") { progress in
            if restore {
                let report = try await look.inspector().checkRestore(version: at, progress: progress)
                try tell(report, report.lines, notices: report.notices, problems: report.problems)
            } else if reads {
                let report = try await look.inspector().verify(all: allVersions, local: local, progress: progress)
                try tell(report, report.lines, notices: report.notices, problems: report.problems)
                if let first = report.arriving.first { throw failure(.tryAgainLater, first) }
            } else {
                try await find()
            }
        }
        outcome.succeeded()
    }

    private func find() async throws {
        let report: DoctorReport
        if let alone = try await look.locationAlone() {
            report = await SnapshotInspector.doctor(cloud: alone.location, zone: alone.zone)
        } else {
            report = try await look.engine().doctor()
        }
        let lines = report.lines(all: verbose)
        if !quietness.quiet {
            try output.printer.print(report, lines: lines)
        } else if report.worstCode != nil {
            for line in lines { try StandardStream.error.write(VisibleText.escape("snapsync: \(line.text)") + "\n") }
        }
        if let code = report.worstCode {
            let worst = report.findings.first { $0.severity.rawValue == report.worst }
            outcome.failed(SyncError(code, at: report.database ?? report.cloud, worst?.found ?? "problems were found"), database: look.database)
            throw ExitCode(code.exitStatus)
        }
    }

    /// Prints a report or, with `--quiet`, only what needs attention.
    ///
    /// - Throws: an exit code of 65 if there are problems.
    private func tell(_ report: some Encodable, _ lines: [Line], notices: [String], problems: [String]) throws {
        if quietness.quiet {
            for notice in notices { try StandardStream.error.write(VisibleText.escape("snapsync: \(notice)") + "\n") }
        } else {
            try output.printer.print(report, lines: lines)
        }
        guard let first = problems.first else { return }
        throw failure(.dataRefused, problems.count == 1 ? first : "\(first), and \(Format.count(problems.count - 1, "more problem"))")
    }

    /// The exit code of a run whose findings are printed. Also runs the command for failures.
    private func failure(_ code: SyncError.Code, _ reason: String) -> ExitCode {
        let error = SyncError(code, step: .verify, at: "the location", reason)
        outcome.failed(error, database: look.database)
        return ExitCode(error.code.exitStatus)
    }
}

extension DoctorReport {
    /// The findings, one line each, and their number.
    ///
    /// - Parameter all: whether to list the checks that passed, too.
    func lines(all: Bool) -> [Line] {
        let shown = findings.filter { all || $0.severity != .ok }
        let counts = DoctorReport.Finding.Severity.allCases.reversed().compactMap { severity -> String? in
            let count = findings.count { $0.severity == severity }
            guard count > 0 else { return nil }
            return severity == .ok ? "\(count) ok" + (all ? "" : " (-v lists them)") : Format.count(count, severity.rawValue)
        }
        let verdict = (worst == nil ? "all is well: " : "") + counts.joined(separator: ", ")
        return shown.map { Line(line($0), tone($0.severity)) } + [Line(verdict, worst == nil ? .good : Tone.bad)]
    }

    private func tone(_ severity: DoctorReport.Finding.Severity) -> Tone? {
        switch severity {
        case .ok: nil
        case .notice, .warning: .attention
        default: .bad
        }
    }

    private func line(_ finding: DoctorReport.Finding) -> String {
        "\(finding.severity.rawValue): \(finding.id): \(finding.found)" + (finding.meaning.map { "; \($0)" } ?? "")
            + (finding.remedy.map { "; hint: \(HintCommands().complete($0))" } ?? "")
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
