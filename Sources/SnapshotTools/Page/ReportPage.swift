import SnapshotEngine
import SnapshotVersions
import StrictText

/// A report on the state of zones as one HTML file, for a browser, without a server and without scripts.
///
///     let page = ReportPage([try await engine.overview()])
///     try page.write(to: "report.html")
///
/// Data from databases and clouds enters only as escaped text, and the page's Content-Security-Policy allows no scripts.
public struct ReportPage: Sendable {
    /// The zones, in the order of the page.
    public let zones: [ZoneOverview]
    private let verdicts: [Verdict]

    public init(_ zones: [ZoneOverview]) {
        self.zones = zones
        verdicts = zones.map(Verdict.init)
    }

    /// The state of all zones in one sentence.
    public var verdict: String {
        guard verdicts.count != 1 else { return verdicts[0].sentence }
        let ill = verdicts.indices.filter { verdicts[$0].severity >= .warning }
        switch ill.count {
        case 0: return "All is well in \(Format.count(zones.count, "zone"))."
        case 1: return "\(ZoneSection.name(of: zones[ill[0]])) needs attention; all is well in the other\(zones.count == 2 ? "" : "s")."
        default: return "\(ill.count) of \(zones.count) zones need attention: \(ill.map { ZoneSection.name(of: zones[$0]) }.joined(separator: ", "))."
        }
    }

    /// The severity of the most important finding.
    public var severity: DoctorReport.Finding.Severity { verdicts.map(\.severity).max() ?? .ok }

    /// The page, in UTF-8.
    public var text: String {
        let title = "Sync report: " + (zones.count == 1 ? ZoneSection.name(of: zones[0]) : Format.count(zones.count, "zone"))
        return HTML.document(title: title, style: PageStyle.sheet, policy: PageStyle.policy) {
            HTML.element(.header) {
                HTML.element(.h1) { title }
                HTML.element(.p, .class("verdict \(severity.rawValue)")) { verdict }
                HTML.element(.p, .class("soft")) {
                    "As of "
                    TimeText.element(zones.map(\.madeAt).min() ?? .now)
                    " UTC. All times are in UTC, and all ages as of then."
                }
                if zones.count > 1 { overview }
            }
            HTML.element(.main) { sections.map(\.html) }
            HTML.element(.footer) {
                HTML.element(.small) { "Made by snapsync report. The page holds all it shows: it loads nothing, sends nothing and runs no script." }
            }
        }.markup
    }

    private var sections: [ZoneSection] {
        zones.indices.map { ZoneSection(zone: zones[$0], verdict: verdicts[$0], prefix: "z\($0 + 1)", isOneOfMany: zones.count > 1) }
    }

    private var overview: HTML {
        .element(.nav, .set(.label, "Zones")) {
            HTML.element(.ul) {
                sections.map { section in
                    HTML.element(.li) {
                        ZoneSection.badge(section.verdict.severity)
                        " "
                        HTML.element(.link, .to(section.prefix)) { ZoneSection.name(of: section.zone) }
                        ": \(section.verdict.sentence)"
                    }
                }
            }
        }
    }

    /// Writes the page durably and as a whole: a reader sees either the old page or the new one. An existing file keeps its permissions; a new
    /// file is readable only by its owner.
    ///
    /// - Returns: the page's length in bytes.
    /// - Throws: ``SyncError`` with `.permissionDenied` or `.inputOutput`; an old page is then unchanged.
    @discardableResult
    public func write(to path: String) throws -> Int {
        let text = text
        try ReplacedFile.write(text, to: path, mode: 0o600, keepsMode: true)
        return text.utf8.count
    }
}

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
