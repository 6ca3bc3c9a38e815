import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync doctor`: reports problems, what they mean, and what to do.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Find problems of a database and its cloud, and suggest fixes.",
        discussion: """
            Check a database and its shared folder, and print for each problem what it means and which command fixes it. doctor changes \
            nothing. On a publisher it tests the file system or bucket with files that it removes. While sync is off, it does not access \
            the folder. With --cloud alone it checks the folder, the zone and its devices.

            Each line starts with a severity: ok, notice (needs no action), warning (needs action soon) or error (syncing fails or could \
            lose data). The exit status is 0, or that of the most important warning or error. From the most important: damaged data, an \
            unavailable folder, something not found, missing permission, failed input or output, a refusal, try again later. \
            docs/checks.md lists the checks.

            EXAMPLES
              snapsync doctor --db phone.db
              snapsync doctor --db phone.db --all
              snapsync doctor --cloud /mnt/share/cloud --json
            """)

    @OptionGroup var look: LookOptions
    @Flag(name: .long, help: "Also list the checks that passed. Default: only findings.")
    var all = false
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await output.printer.work("doctor") { _ in
            let report: DoctorReport
            if let cloud = look.cloudAlone {
                report = await SnapshotInspector.doctor(cloud: cloud, zone: look.zone)
            } else {
                report = try await look.database.engine().doctor()
            }
            try output.printer.print(report, lines: report.lines(all: all))
            if let code = report.worstCode { throw ExitCode(code.exitStatus) }
        }
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
            return severity == .ok ? "\(count) ok" + (all ? "" : " (--all lists them)") : Format.count(count, severity.rawValue)
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
