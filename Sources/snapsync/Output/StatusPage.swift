import CommandSupport
import Crypto
import Foundation
import SnapshotSync
import StrictText

/// The status page: for each zone, what the commands that only look print, in one HTML file for a browser.
///
/// All text is escaped, and the Content-Security-Policy allows only the page's style sheet: the page runs no script and loads nothing.
struct StatusPage {
    /// A database with its cloud, or a cloud alone.
    struct Zone {
        let doctor: DoctorReport
        var name: String { doctor.database ?? doctor.cloud }
        /// What each command prints, under its title.
        private(set) var sections: [(title: String, lines: [Line])]
        /// Why the zone cannot be read; nil if it can.
        private(set) var error: SyncError?
    }

    let zones: [Zone]

    private var findings: [DoctorReport.Finding] { zones.flatMap(\.doctor.findings) }
    /// The severity of the most important finding.
    var severity: DoctorReport.Finding.Severity { findings.map(\.severity).max() ?? .ok }

    /// Whether all is well, in one sentence.
    var verdict: String {
        let errors = findings.filter { $0.severity == .error }, warnings = findings.filter { $0.severity == .warning }
        guard let first = (errors + warnings).first else { return "All is well." }
        let counts = [(errors.count, "error"), (warnings.count, "warning")].filter { $0.0 > 0 }.map { Format.count($0.0, $0.1) }.joined(separator: ", ")
        let ill = zones.filter { $0.doctor.worst != nil }.map(\.name).joined(separator: ", ")
        return counts + (zones.count > 1 ? " in \(ill)" : "") + (errors.count + warnings.count > 1 ? "; the first: " : ": ") + "\(first.found)."
    }

    /// The page, in UTF-8.
    var text: String {
        let title = Self.escape("Sync report: " + (zones.count == 1 ? zones[0].name : Format.count(zones.count, "zone")))
        let digest = Data(SHA256.hash(data: Data(Self.sheet.utf8))).base64EncodedString()
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-\(digest)'; base-uri 'none'; form-action 'none'">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(title)</title>
            <style>\(Self.sheet)</style></head>
            <body><h1>\(title)</h1>
            <p class="verdict \(severity)">\(Self.escape(verdict))</p>
            <p>As of \(Instant.now), as all ages are. Times are in UTC.</p>
            \(zones.map(Self.section).joined())</body></html>

            """
    }

    private static func section(_ zone: Zone) -> String {
        let parts = zone.sections.map { title, lines in
            "<h3>\(title)</h3>\n<pre>\(lines.map { "<span\($0.tone.map { " class=\"\($0)\"" } ?? "")>\(escape($0.text))\n</span>" }.joined())</pre>\n"
        }
        return "<section><h2>\(escape(zone.name))</h2>\n\(parts.joined())</section>\n"
    }

    /// Escapes text for the content of an element, and makes control characters visible.
    private static func escape(_ text: String) -> String {
        let names = [UInt8(ascii: "&"): "&amp;", UInt8(ascii: "<"): "&lt;", UInt8(ascii: ">"): "&gt;"]
        return VisibleText.escape(text).escaping { names[$0] }
    }

    /// For light and dark screens, wide and narrow ones, and paper. Each line of a report is a block of its own: if it is wrapped, the rest is indented.
    private static let sheet = """
        :root{color-scheme:light dark;--ground:#fff;--raised:#f5f7f9;--text:#1b2127;--soft:#56616c;--line:#d5dbe1;--good:#1a6b3c;--attention:#8a5200;--bad:#b3261e}
        @media (prefers-color-scheme:dark){:root{--ground:#101418;--raised:#191f25;--text:#e7eaed;--soft:#a3aeb9;--line:#323b44;--good:#7fd3a0;
        --attention:#e9bb5a;--bad:#ff9a91}}
        body{font:1rem/1.5 system-ui,sans-serif;margin:0 auto;max-width:60rem;padding:1.5rem 1rem 3rem;background:var(--ground);color:var(--text);overflow-wrap:anywhere}
        h1,p{color:var(--soft);font-size:1rem;font-weight:400;margin:0}
        .verdict{font-size:1.375rem;font-weight:600;line-height:1.35;margin:.25rem 0 .5rem;padding-left:.875rem;border-left:.25rem solid}
        h2{font-size:1.25rem;line-height:1.3;margin:2rem 0 0;padding-top:1.5rem;border-top:1px solid var(--line)}
        h3{font-size:1rem;margin:1.25rem 0 .375rem}
        pre{font:.875rem/1.6 ui-monospace,Menlo,"DejaVu Sans Mono",monospace;margin:0;padding:.75rem .875rem;background:var(--raised);border-radius:.375rem;white-space:pre-wrap}
        pre span{display:block;padding-left:4ch;text-indent:-4ch}
        .good,.ok,.notice{color:var(--good)}.attention,.warning{color:var(--attention)}.bad,.error{color:var(--bad)}
        @media (max-width:40rem){pre{font-size:.8125rem;margin:0 -.5rem;padding:.625rem}}
        """
}

extension StatusPage.Zone {
    /// - Throws: ``SyncError`` if the database was not set up.
    init(_ engine: SyncEngine) async throws {
        doctor = try await engine.doctor(isBrief: true)
        sections = [("Doctor", doctor.lines(all: false))]
        var status: StatusReport?
        await add("Status") {
            status = try await engine.status()
            return status?.lines(all: false) ?? []
        }
        guard let status, status.gate.isOpen else { return }
        error = status.cloudProblem
        await addZone { try await engine.inspector() }
        if status.signature != nil { await add("Members") { try await engine.members.list().lines.map { Line($0) } } }
    }

    init(cloud: String, zone: String) async {
        doctor = await SnapshotInspector.doctor(cloud: cloud, zone: zone)
        sections = [("Doctor", doctor.lines(all: false))]
        await addZone { try await SnapshotInspector(cloud: cloud, zone: zone) }
    }

    private mutating func addZone(_ inspector: () async throws -> SnapshotInspector) async {
        await add("History") { try await inspector().history(limit: HistoryReport.usualLimit).lines(limit: .max) }
        await add("Messages") { try await inspector().messages().lines.map { Line($0) } }
    }

    /// Adds a section, or the error that prevents it. After an error no more are added.
    private mutating func add(_ title: String, _ lines: () async throws -> [Line]) async {
        guard error == nil else { return }
        do { sections.append((title, try await lines())) } catch {
            let problem = SyncError(error, step: .read)
            self.error = problem
            sections.append((title, [Line("\(problem.place): \(problem.reason)", .bad)]))
        }
    }
}
