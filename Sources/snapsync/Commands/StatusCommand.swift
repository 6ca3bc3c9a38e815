import ArgumentParser
import SnapshotSync

/// `snapsync status`: what is here and what the zone has.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Says what this database has, what the zone has, and how far they are apart.",
        discussion: """
            EXAMPLES
              snapsync status --db phone.db
              snapsync status --cloud /mnt/share/cloud --json
            """)

    @OptionGroup var look: LookOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await output.printer.run {
            if look.isCloudAlone {
                let report = try await look.inspector().zoneStatus()
                try output.printer.print(report, lines(report))
            } else {
                let report = try await look.database.engine().status()
                try output.printer.print(report, lines(report))
            }
        }
    }

    private func lines(_ report: StatusReport) -> [String] {
        var lines = ["\(report.database): \(report.role) \(report.device) of zone \(report.zone) in \(report.cloud)"]
        let here = report.version.map { "version \($0)" } ?? "no version yet"
        let there = report.newestVersion.map { "newest is \($0)" } ?? "the zone has none"
        lines.append("  \(here), \(there)" + (report.behind > 0 ? ", \(report.behind) behind" : ""))
        if let view = report.view { lines.append("  showing \(view); snapsync import goes back to the newest") }
        lines.append("  last success: \(report.lastSuccess ?? "never"); journal mode \(report.journalMode)")
        lines += report.datasets.map { dataset in
            let version = dataset.recordCount.map { "\(Format.entities($0)) of \(dataset.syncTimestamp ?? "")" } ?? "no version yet"
            let changes = dataset.isTracked ? "\(Format.count(dataset.changes)) changed since" : "the next sync compares all rows"
            return "  \(dataset.name): \(version), \(changes)"
        }
        lines += report.devices.map(line)
        return lines
    }

    private func lines(_ report: ZoneStatusReport) -> [String] {
        ["zone \(report.zone) of cloud \(report.cloudUUID) (\(report.container)), one publisher: \(report.publisher)"]
            + ["  newest version: \(report.newestVersion.map { "\($0) of \(report.newestTimestamp ?? "")" } ?? "none")"]
            + report.records.map(Format.record)
            + report.devices.map(line)
    }

    private func line(_ device: StatusReport.OtherDevice) -> String {
        "  device \(device.device) (\(device.role)): \(device.version.map { "version \($0)" } ?? "no version yet"), as of \(device.reportedAt)"
    }
}
