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
