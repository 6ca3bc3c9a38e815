import ArgumentParser
import SnapshotSync

/// `snapsync status`: what is here and what the zone has.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Says what this database has, what the zone has, and how far they are apart.",
        discussion: """
            With --cloud and no database it shows what the zone has. If the cloud cannot be read, status prints what the database knows on
            standard output and the reason on standard error, and the exit code is that of the reason. With --strict it also ends with 75
            if the last success is too old, for a monitor. --prometheus writes the same facts for node_exporter's textfile collector
            instead of printing them. A new file replaces the old one, so a reader never sees half a file. The file is written even if the
            cloud cannot be read; then the exit code says why.

            EXAMPLES
              snapsync status --db phone.db
              snapsync status --db phone.db --strict --max-age 45m
              snapsync status --db phone.db --prometheus /var/lib/node_exporter/phone.prom
              snapsync status --cloud /mnt/share/cloud --json
            """)

    @OptionGroup var look: LookOptions
    @Flag(name: .long, help: "List every device. Default: of more than 10 devices those that are behind (the 10 furthest), and the number of the others.")
    var all = false
    @Flag(name: .long, help: "End with 75 if the last success is too old, or there was none; 78 if neither --max-age nor schedule has set what is too old.")
    var strict = false
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            With --strict: how old the last success may be: 90s, 45m, 2h, 1d. Default: three intervals of schedule.
            """, valueName: "time"))
    var maxAge: TimeSpan?
    @Option(
        name: .long, help: ArgumentHelp("Write the facts as a Prometheus text file, replaced whole, and print nothing.", valueName: "file"), completion: .file()
    )
    var prometheus: String?
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard maxAge == nil || strict else { throw ValidationError("--max-age belongs to --strict.") }
        guard !look.isCloudAlone || (!strict && prometheus == nil) else {
            throw ValidationError("--strict and --prometheus tell of a database: --db FILE, or set SNAPSYNC_DB.")
        }
    }

    func run() async throws {
        try await output.printer.run {
            if look.isCloudAlone {
                let report = try await look.inspector().zoneStatus()
                try output.printer.print(report, lines(report))
            } else {
                let engine = try look.database.engine()
                if let prometheus { try await engine.writeMetrics(to: prometheus) }
                guard prometheus == nil || strict else { return }
                let report = try await engine.status()
                if prometheus == nil {
                    try output.printer.print(report, lines(report))
                    // What is here was shown; that the cloud could not be looked at is an error all the same.
                    if let problem = report.cloudProblem { throw problem.error }
                }
                if strict { try report.verifyFresh(within: maxAge?.duration) }
            }
        }
    }

    private func lines(_ report: StatusReport) -> [String] {
        var lines = ["\(report.database): \(report.role) \(report.device) of zone \(report.zone) in \(report.cloud)"]
        let here = report.version.map { "version \($0)" } ?? "no version yet"
        if let behind = report.behind {
            let there = report.newestVersion.map { "newest is \($0)" } ?? "the zone has none"
            lines.append("  \(here), \(there)" + (behind > 0 ? ", \(behind) behind" : ""))
        } else {
            lines.append("  \(here); the cloud was not looked at")
        }
        lines += report.gate.lines.map { "  \($0)" }
        if let view = report.view { lines.append("  showing \(view); snapsync import goes back to the newest") }
        let age = report.lastSuccessAge.map { ", \(AgeText.words(seconds: $0)) ago" } ?? ""
        lines.append("  last success: \(report.lastSuccess ?? "never")\(age); journal mode \(report.journalMode)")
        if let error = report.lastError {
            lines.append("  last error, at \(error.at): \(error.step.map { "\($0) failed: " } ?? "")\(error.place): \(error.reason)")
        }
        if let check = report.lastRestoreCheck {
            let found = check.problems == 0 ? "all was well" : "\(Format.count(check.problems, "problem")) found"
            lines.append("  last trial restore: version \(check.version) at \(check.at), \(found)")
        }
        lines += report.datasets.map { dataset in
            let version = dataset.recordCount.map { "\(Format.entities($0)) of \(dataset.syncTimestamp ?? "")" } ?? "no version yet"
            let changes = dataset.isTracked ? "\(Format.count(dataset.changes)) changed since" : "the next sync compares all rows"
            let size = dataset.assetSize.map { "; newest asset \(Format.bytes($0)), \(share($0, of: report.assetLimit)) of the limit" } ?? ""
            return "  \(dataset.name): \(version), \(changes)\(size)"
        }
        if report.conflicts > 0 {
            let one = report.conflicts == 1
            lines.append(
                "  \(Format.count(report.conflicts)) edit\(one ? "" : "s") lost, and nobody has looked at \(one ? "it" : "them"); see: snapsync conflicts"
            )
        }
        if let undo = report.undo { lines.append("  snapsync undo brings back \(undo)") }
        lines += report.copies.map { "  copy \($0.number) of \($0.at), \($0.reason): \(Format.bytes($0.size)) in \(report.database).snapsync-kept" }
        if let retention = report.retention { lines.append(line(retention)) }
        if let signature = report.signature { lines.append("  \(signature.sentence)") }
        lines += messageLines(report.messages) + devices(report.devices)
        lines += report.forks.map { "  \($0.sentence)" }
        if let requests = report.requests { lines.append("  this look took \(Format.requests(requests))") }
        return lines
    }

    private func messageLines(_ counts: MessageCounts) -> [String] {
        let told = [
            (counts.unsent, "not sent yet"), (counts.unanswered, "not answered yet"),
            (counts.missing, "of them missing from the mailbox, to be put back by the next sync"), (counts.refused, "refused"),
            (counts.waiting, "to be applied here"),
        ]
        .filter { $0.0 > 0 }.map { "\(Format.count($0.0)) \($0.1)" }
        return (told.isEmpty ? [] : ["  messages: \(told.joined(separator: ", "))"])
            + (counts.overlays > 0 ? ["  \(Format.count(counts.overlays)) changed here and kept here, for no message carries them"] : [])
    }

    private func lines(_ report: ZoneStatusReport) -> [String] {
        [
            "zone \(report.zone) of cloud \(report.cloudUUID) (\(report.container)), \(report.publisher == "many" ? "many publishers" : "one publisher: \(report.publisher)")"
        ]
            + ["  newest version: \(report.newestVersion.map { "\($0) of \(report.newestTimestamp ?? "")" } ?? "none")"]
            + report.records.map(Format.record)
            + (report.signature.map { ["  \($0.sentence)"] } ?? [])
            + devices(report.devices)
    }

    private func line(_ retention: RetentionReport) -> String {
        let kept = [
            retention.keepWithin.map { "of the last \(AgeText.words(seconds: $0))" },
            retention.keepLast.map { $0 == 1 ? "of the last state of the data" : "of the last \($0) states of the data" },
        ]
        return "  this device keeps the versions \(kept.compactMap { $0 }.joined(separator: " and ")); "
            + (retention.lastRun.map { "it last looked for older ones at \($0)" } ?? "it has not looked for older ones yet")
    }

    /// The devices, one line each while they are few; of many those that are behind, most of all first, and how many are not.
    private func devices(_ devices: [StatusReport.OtherDevice]) -> [String] {
        guard !all, devices.count > Self.deviceLimit else { return devices.map(line) }
        let late = devices.filter { $0.behind > 0 }.sorted { ($1.behind, $1.reportAge) < ($0.behind, $0.reportAge) }
        let shown = late.prefix(Self.deviceLimit), current = devices.count - late.count
        return shown.map(line) + (late.count > shown.count ? ["  and \(Format.count(late.count - shown.count)) more that are behind (--all)"] : [])
            + (current > 0 ? ["  \(Format.count(current, "device")) of \(Format.count(devices.count)) with the newest data (--all lists them)"] : [])
    }

    private static let deviceLimit = 10

    private func line(_ device: StatusReport.OtherDevice) -> String {
        let version = device.version.map { "version \($0)" } ?? "no version yet"
        let lag = device.behind > 0 ? ", \(device.behind) behind" : ""
        return
            "  device \(device.device) (\(device.role)\(device.isMember == false ? ", no member" : "")): \(version)\(lag), as of \(device.reportedAt), \(AgeText.words(seconds: device.reportAge)) ago"
    }

    private func share(_ size: Int, of limit: Int) -> String {
        let share = Double(size) / Double(limit) * 100
        return share < 1 ? "under 1 %" : "\(Int(share)) %"
    }
}
