import CloudStore
import SnapshotEngine
import SnapshotVersions
import StrictText

/// The section of a page about one zone.
struct ZoneSection {
    let zone: ZoneOverview
    let verdict: Verdict
    /// The prefix of the element ids in this section.
    let prefix: String
    /// Whether the page has other zones, so that the page's verdict differs from the section's.
    let isOneOfMany: Bool

    /// The display name of a zone: the file name of its database, else its cloud, followed by the zone's name if that is not the standard one.
    static func name(of zone: ZoneOverview) -> String {
        let path = zone.database ?? String(zone.cloud.exact.split(separator: "?", maxSplits: 1).first ?? "")
        let file = path.exact.split(separator: "/").last ?? path
        return zone.zone == ZoneID.standard.name ? file : "\(file), \(zone.zone)"
    }

    static func badge(_ severity: DoctorReport.Finding.Severity) -> HTML {
        let word =
            switch severity {
            case .ok: "OK"
            case .notice: "Notice"
            case .warning: "Warning"
            case .error: "Error"
            }
        return .element(.span, .class("badge \(severity.rawValue)")) { word }
    }

    var html: HTML {
        .element(.section, .class("zone"), .id(prefix), .set(.labelledBy, "\(prefix)-name")) {
            HTML.element(.h2, .id("\(prefix)-name")) { Self.name(of: zone) }
            if isOneOfMany {
                HTML.element(.p) {
                    Self.badge(verdict.severity)
                    " \(verdict.sentence)"
                }
            }
            facts
            part("attention", "What needs attention") { FindingList(zone: zone).html }
            if let status = zone.status { part("database", "This database") { DatabasePart(status: status, path: zone.database ?? status.database).html } }
            if zone.details.facts != nil {
                part("devices", "Devices") { DevicePart(zone: zone, prefix: prefix).html }
                part("versions", "Versions") { VersionPart(zone: zone, prefix: prefix).html }
                part("datasets", "Datasets") { DatasetPart(zone: zone, prefix: prefix).html }
                part("change", "Last change") { ChangePart(zone: zone, prefix: prefix).html }
                if zone.details.facts?.info.isSigned == true { part("members", "Who may sign") { MemberPart(zone: zone, prefix: prefix).html } }
                part("guards", "Guards and conflicts") { guards }
            }
            part("commands", "Commands to copy") { commands }
        }
    }

    private func part(_ name: String, _ title: String, @HTML.Builder _ content: () -> HTML) -> HTML {
        .element(.section, .set(.labelledBy, "\(prefix)-\(name)")) {
            HTML.element(.h3, .id("\(prefix)-\(name)")) { title }
            content()
        }
    }

    private var facts: HTML {
        let newest = try? zone.details.facts?.state.get(), isKnown = newest != nil, records = zone.records,
            current = zone.details.devices.count { $0.behind == 0 }
        let waiting = (try? zone.details.messages?.get())?.waiting.count
        return .element(.dl, .class("facts")) {
            fact("Newest version", isKnown ? newest?.token.map { "\($0.number)" } ?? "none" : "not known") {
                if let at = newest?.timestamp { "\(AgeText.words(seconds: at.age(at: zone.madeAt))) ago" }
            }
            fact("Devices that have it", !isKnown ? "not known" : "\(Format.count(current)) of \(Format.count(zone.details.devices.count))") {
                if let late = zone.details.devices.map(\.behind).max(), late > 0 { "the last is \(Format.count(late, "version")) behind" }
            }
            fact("Rows", !isKnown ? "not known" : zone.isSealed ? "sealed" : Format.count(Total.of(records.map(\.recordCount)))) {
                zone.isSealed ? "no keys are at hand" : "in \(Format.count(records.count, "dataset"))"
            }
            fact("Size", !isKnown ? "not known" : zone.isSealed ? "sealed" : Format.bytes(Total.of(records.map { Total.of([$0.size, $0.changeSize]) }))) {
                "of the newest version"
            }
            if let waiting { fact("Messages", Format.count(waiting)) { Format.word(waiting, "waits", "wait") + " in the mailbox" } }
        }
    }

    private func fact(_ name: String, _ value: String, @HTML.Builder _ note: () -> HTML) -> HTML {
        .element(.div) {
            HTML.element(.dt) { name }
            HTML.element(.dd) {
                value
                HTML.element(.small, content: note)
            }
        }
    }

    private var guards: HTML {
        .element(.dl, .class("pairs")) {
            HTML.pair("Zone") {
                zone.details.facts?.info.publishers == .many ? "every peer publishes" : "\(zone.details.facts?.info.creator ?? "") publishes"
                zone.details.facts?.info.isSigned == true ? ", and keys say who may" : ", and so can whoever may write the cloud"
            }
            if let gate = zone.status?.gate {
                HTML.pair("Sync") { gate.isOpen ? "on" : "off: \(gate.reason ?? "it was not turned on")" }
            }
            if let error = zone.status?.lastError {
                HTML.pair("Last refusal or failure") {
                    TimeText.element(error.at)
                    ": \(error.place): \(error.reason)"
                    if let hint = error.hint { ". What to do: \(hint)" }
                }
            }
            if let status = zone.status {
                HTML.pair("Edits that lost") { status.conflicts == 0 ? "none to review" : Format.count(status.conflicts) }
                if let undo = status.undo { HTML.pair("Undo") { "brings back \(undo)" } }
            }
        }
    }

    private var commands: HTML {
        .group {
            HTML.element(.p, .class("soft")) {
                zone.database == nil ? "FILE stands for a database of this zone. " : ""
                "A field that gets the focus with the Tab key is selected whole."
            }
            HTML.element(.ul, .class("commands")) {
                CopyCommand.all(zone).enumerated().map { index, command in
                    HTML.element(.li) {
                        HTML.element(.label, .set(.for, "\(prefix)-command\(index)")) { command.purpose }
                        HTML.field(id: "\(prefix)-command\(index)", command.line)
                        HTML.element(.code) { command.line }
                    }
                }
            }
        }
    }
}

extension ZoneOverview {
    /// The datasets of the newest version.
    var records: [HistoryReport.Version.Dataset] {
        ((try? details.facts?.state.get())?.records ?? []).compactMap(HistoryReport.Version.Dataset.init)
    }

    /// Whether the zone's data cannot be read here, because it is sealed and no device's keys are available.
    var isSealed: Bool { (try? details.facts?.state.get())?.records.contains(where: \.isSealed) == true }

    /// The display name of a record's dataset. Without a dataset file it can only be guessed from the usual record name.
    static func dataset(_ record: String) -> String { record.exact.hasSuffix("_data") ? String(record.dropLast(5)) : record }
}

extension HTML {
    /// A term and its description, in a list of such pairs.
    static func pair(_ name: String, @Builder _ content: () -> HTML) -> HTML {
        .group {
            HTML.element(.dt) { name }
            HTML.element(.dd, content: content)
        }
    }

    /// The header of a table column and its style: short text, numbers, or sentences.
    enum Column {
        case text(String)
        case number(String)
        case prose(String)

        fileprivate var name: String {
            switch self {
            case .text(let name), .number(let name), .prose(let name): name
            }
        }

        fileprivate var style: String {
            switch self {
            case .text: "t"
            case .number: "n"
            case .prose: "prose"
            }
        }
    }

    /// A table with a title. It scrolls on its own if it is wider than the page.
    ///
    /// - Parameter rows: the cells of each row; the first cell is the row's header.
    static func table(id: String, _ title: String, _ columns: [Column], _ rows: [[HTML]]) -> HTML {
        let head = columns.map { column in HTML.element(.th, .set(.scope, "col"), .class(column.style)) { column.name } }
        let body = rows.map { row in
            let cells = row.indices.map { index in
                index == 0
                    ? HTML.element(.th, .set(.scope, "row"), .class(columns[index].style)) { row[index] }
                    : HTML.element(.td, .class(columns[index].style)) { row[index] }
            }
            return HTML.element(.tr) { cells }
        }
        return .group {
            HTML.element(.p, .class("soft"), .id(id)) { title }
            HTML.element(.div, .class("scroll"), .set(.role, "region"), .set(.labelledBy, id), .set(.tabindex, "0")) {
                HTML.element(.table, .set(.labelledBy, id)) {
                    HTML.element(.thead) { HTML.element(.tr) { head } }
                    HTML.element(.tbody) { body }
                }
            }
        }
    }

    /// Content that is collapsed until the user opens it.
    static func folded(_ title: String, @Builder _ content: () -> HTML) -> HTML {
        .element(.details) {
            HTML.element(.summary) { title }
            content()
        }
    }
}
