import SnapshotEngine
import SnapshotVersions
import StrictText

/// The headline of a page: the state of a zone in one sentence.
struct Verdict: Sendable {
    /// The severity of the most important finding.
    let severity: DoctorReport.Finding.Severity
    let sentence: String

    init(_ zone: ZoneOverview) {
        let findings = zone.doctor.findings
        let most = findings.map(\.severity).max() ?? .ok, worst = findings.filter { $0.severity == most }
        severity = most
        switch most {
        case .error: sentence = Self.first("Syncing fails", "Syncing fails, for \(worst.count) reasons", worst)
        case .warning: sentence = Self.first("Something waits for somebody", "\(worst.count) things wait for somebody", worst)
        case .notice, .ok: sentence = Self.well(zone)
        }
    }

    private static func well(_ zone: ZoneOverview) -> String {
        if let gate = zone.status?.gate, !gate.isOpen { return "Sync is off: \(gate.reason ?? "it was not turned on")." }
        guard let newest = zone.details.facts?.newest else { return "All is well; nothing has been published yet." }
        let current = zone.details.devices.count { $0.behind == 0 }, all = zone.details.devices.count
        let reach =
            switch (current, all) {
            case (_, 0): "no device has reported yet"
            case (1, 1): "its one device has it"
            case (all, _): "all \(Format.count(all)) devices have it"
            default: "\(Format.count(all - current)) of \(Format.count(all)) devices \(Format.word(all - current, "gets", "get")) it at the next sync"
            }
        return "All is well: version \(newest) is the newest, and \(reach)."
    }

    /// The number of findings, and the first one up to its first semicolon.
    private static func first(_ one: String, _ many: String, _ findings: [DoctorReport.Finding]) -> String {
        let found = findings.first.map { String($0.found.prefix { $0 != ";" }) } ?? ""
        return findings.count == 1 ? "\(one): \(found)." : "\(many); the first: \(found)."
    }
}
