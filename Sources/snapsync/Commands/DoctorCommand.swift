import ArgumentParser
import SnapshotSync

/// `snapsync doctor`: says what is wrong, what it means and what mends it.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Says what is wrong with a database, its cloud and its zone, what that means, and what mends it.",
        discussion: """
            Looks and changes nothing. On a device that publishes it tries out what the cloud's file system can do, in a folder
            beneath the zone that it removes again. One line a finding; it ends with the code of the one that matters most, and
            with 0 if there are notices at most.

            EXAMPLES
              snapsync doctor --db phone.db
              snapsync doctor --db phone.db --all
              snapsync doctor --cloud /mnt/share/cloud --json
            """)

    @OptionGroup var look: LookOptions
    @Flag(name: .long, help: "Also list what is as it should be.")
    var all = false
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await output.printer.run {
            let report: DoctorReport
            if let cloud = look.cloudAlone {
                report = await SnapshotInspector.doctor(cloud: cloud, zone: look.zone)
            } else {
                report = try await look.database.engine().doctor()
            }
            try output.printer.print(report, lines(report))
            if let code = report.worstCode { throw ExitCode(code.exitStatus) }
        }
    }

    private func lines(_ report: DoctorReport) -> [String] {
        let shown = report.findings.filter { all || $0.severity != .ok }
        let counts = DoctorReport.Finding.Severity.allCases.reversed().compactMap { severity -> String? in
            let count = report.findings.count { $0.severity == severity }
            guard count > 0 else { return nil }
            return severity == .ok ? "\(count) ok" + (all ? "" : " (--all lists them)") : "\(count) \(severity.rawValue)\(count == 1 ? "" : "s")"
        }
        return shown.map(line) + [(report.worst == nil ? "all is well: " : "") + counts.joined(separator: ", ")]
    }

    private func line(_ finding: DoctorReport.Finding) -> String {
        "\(finding.severity.rawValue): \(finding.id): \(finding.found)" + (finding.meaning.map { "; \($0)" } ?? "")
            + (finding.remedy.map { "; hint: \($0)" } ?? "")
    }
}
