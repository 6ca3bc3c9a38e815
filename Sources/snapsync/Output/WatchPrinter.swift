import CommandSupport
import Foundation
import SnapshotSync
import StrictText

/// Prints the events of a watch: for people, one line for each version and each problem; for programs, one JSON object per line.
struct WatchPrinter: Sendable {
    let printer: Printer

    /// Prints an event if it is worth a line.
    func print(_ event: WatchEvent) {
        // Output may fail because its reader has ended; the watch continues.
        try? printer.isJSON ? printLine(event) : printSentence(event)
    }

    private func printLine(_ event: WatchEvent) throws {
        guard let line = WatchLine(event) else { return }
        try StandardStream.output.write(Printer.json(line) + "\n")
    }

    private func printSentence(_ event: WatchEvent) throws {
        switch event {
        case .started(let database, let poll):
            try say("watching \(database); a poll every \(AgeText.words(seconds: Int(poll.components.seconds))) backs up the events")
        case .synced(let report, _, _):
            if let exported = report.exported, exported.published {
                try say(
                    "published version \(exported.version ?? 0): "
                        + exported.written.map { "\($0.name) \(Format.entities($0.recordCount))" }.joined(separator: ", "))
            }
            if let imported = report.imported, imported.applied {
                try say(
                    "imported version \(imported.version ?? 0): "
                        + imported.datasets.map { "\($0.name) \(Format.entities($0.recordCount))" }.joined(separator: ", "))
            }
            for line in report.conflictLines { try say(String(line.drop { $0 == " " })) }
            try report.printWarnings()
        case .failing(let error): printer.print(error)
        case .recovered: try say("all is well again")
        case .polling(let reason): try StandardStream.remark("notice", "\(reason); the poll does it")
        }
    }

    private func say(_ text: String) throws {
        try StandardStream.output.write(VisibleText.escape("\(Instant.now) \(text)") + "\n")
    }
}

/// One line of `watch --json`.
private struct WatchLine: Encodable {
    let event: String
    let at = Instant.now
    var database: String?
    var version: Int?
    var datasets: [String]?
    var cause: String?
    var milliseconds: Int?
    var warnings: [String]?
    var conflicts: Int?
    var reason: String?
    var error: SyncError?

    /// Returns nil for a run that did nothing.
    init?(_ event: WatchEvent) {
        switch event {
        case .started(let database, _):
            self.event = "started"
            self.database = database
        case .synced(let report, let cause, let took):
            if let exported = report.exported, exported.published {
                self.event = "exported"
                version = exported.version
                datasets = exported.written.map(\.name)
            } else if let imported = report.imported, imported.applied {
                self.event = "imported"
                version = imported.version
                datasets = imported.datasets.map(\.name)
            } else {
                guard !report.warnings.isEmpty || report.conflicts > 0 else { return nil }
                self.event = "nothingNew"
            }
            self.cause = cause.rawValue
            milliseconds = Int(took.components.seconds * 1000 + took.components.attoseconds / 1_000_000_000_000_000)
            warnings = report.warnings
            conflicts = report.conflicts
        case .failing(let failure):
            self.event = "failing"
            error = ErrorDocument(failure).error
        case .recovered: self.event = "recovered"
        case .polling(let why):
            self.event = "polling"
            reason = why
        }
    }
}

extension SyncReport {
    /// How many edits lost conflicts or were refused, in both directions.
    fileprivate var conflicts: Int { (imported?.conflicts ?? 0) + exports.map(\.conflicts).reduce(0, +) }

    private var exports: [ExportReport] { audiences.map(\.exported) + (exported.map { [$0] } ?? []) }

    /// The lines about the audiences.
    var audienceLines: [String] {
        audiences.flatMap { audience in
            HintCommands.naming(audience.database) { ["audience \(audience.database):"] + audience.exported.lines.map { "  \($0)" } }
        }
    }

    /// The lines about these edits.
    fileprivate var conflictLines: [String] {
        Format.conflicts(exports.map(\.conflictReasons).reduce(imported?.conflictReasons ?? [:]) { $0.merging($1, uniquingKeysWith: +) })
    }

    /// The lines about changes that stay on this device.
    var keptLines: [String] {
        kept.map { "  \($0.dataset): \(Format.count($0.changes, "change")) \(Format.word($0.changes, "stays", or: "stay")) here: \($0.reason)" }
    }

    /// The warnings of both directions.
    fileprivate var warnings: [String] { exports.flatMap(\.warnings) + (imported?.warnings ?? []) }

    /// Prints the warnings and the lost edits, one line each, on standard error.
    func printNotices() throws {
        try printWarnings()
        for line in conflictLines { try StandardStream.remark("notice", String(line.drop { $0 == " " })) }
    }

    /// Prints the warnings, one line each, on standard error.
    func printWarnings() throws {
        for warning in warnings { try StandardStream.remark("warning", warning) }
    }
}
