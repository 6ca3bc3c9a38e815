import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync doctor`: reports problems, what they mean, and what to do.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Find problems of a database and its cloud, and suggest fixes.",
        discussion: """
            Each finding has its meaning and the command that corrects it. doctor changes nothing. On a device that publishes it tries \
            what the cloud's file system can do, in a folder beneath the zone that it removes again. Where sync is off, it does not touch \
            the cloud. With --cloud and no database it checks directory, zone and devices.

            Each finding is one line with its severity and the name of what was checked: ok; notice: there is nothing to do, or it passes \
            without you; warning: something waits or cannot go on like this; error: syncing fails or would lose something.

            The exit code is that of the most important warning or error, 0 if there is none. From the most to the least important: 65 \
            (damaged, rolled back, an unhealed fork), 69 (the directory is not there), 66 (no such cloud or zone), 77 (no right to write), \
            74 (the file system fails, or is full), 78 (sync is off, another cloud, a table or a clock that does not fit), 75 (files that \
            have not arrived, a device that is silent, an overdue schedule, triggers that the next sync creates again, rows that wait).

            EXAMPLES
              snapsync doctor --db phone.db
              snapsync doctor --db phone.db --all
              snapsync doctor --cloud /mnt/share/cloud --json
            """)

    @OptionGroup var look: LookOptions
    @Flag(name: .long, help: "Also list what is in order. Default: only what is not.")
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
            // Do not wrap lines, because remedies are commands to copy.
            try output.printer.print(report, wraps: false, lines: lines(report))
            if let code = report.worstCode { throw ExitCode(code.exitStatus) }
        }
    }

    private func lines(_ report: DoctorReport) -> [Line] {
        let shown = report.findings.filter { all || $0.severity != .ok }
        let counts = DoctorReport.Finding.Severity.allCases.reversed().compactMap { severity -> String? in
            let count = report.findings.count { $0.severity == severity }
            guard count > 0 else { return nil }
            return severity == .ok ? "\(count) ok" + (all ? "" : " (--all lists them)") : Format.count(count, severity.rawValue)
        }
        let verdict = (report.worst == nil ? "all is well: " : "") + counts.joined(separator: ", ")
        return shown.map { Line(line($0), tone($0.severity)) } + [Line(verdict, report.worst == nil ? .good : Tone.bad)]
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
