package import LocalStore
package import SnapshotModel
import StrictText

/// A trigger of the application's on a table that travels, and what becomes of it when an import changes that table.
public struct TriggerReport: Sendable, Encodable, Hashable {
    public let name: String
    public let dataset: String
    public let table: String
    /// The tables that it writes, itself or by further triggers.
    public let writes: [String]
    /// Those among them that are synced: what the trigger writes there because of an import is ignored.
    public let ignored: [String]
    /// Whether it runs when an import changes rows: not if the dataset file says `"triggers": "off"`, or if it lacks something.
    public let runs: Bool
    /// What it needs and only the application has, in SQLite's words; nil if nothing.
    public let failure: String?

    package init(_ trigger: TriggerSurvey.Trigger, datasets: [DatasetSchema]) {
        let own = Set(datasets.map { $0.table.lowercased() })
        name = trigger.name
        dataset = trigger.dataset
        table = trigger.table
        writes = trigger.writes
        ignored = trigger.writes.filter { own.contains($0.lowercased()) }
        failure = trigger.failure
        runs = trigger.failure == nil && datasets.first { $0.name == trigger.dataset }?.triggers != .off
    }

    /// What ``sentence`` says of several triggers in one sentence: those of which the same is to be said.
    package static func summary(_ triggers: [TriggerReport]) -> [String] {
        func said(_ chosen: [TriggerReport], _ what: String) -> [String] {
            guard !chosen.isEmpty else { return [] }
            let tables = chosen.reduce(into: [String]()) { if !$0.contains($1.table) { $0.append($1.table) } }.joined(separator: ", ")
            return ["\(Format.count(chosen.count, "trigger")) of \(tables): \(what)"]
        }
        let failing = triggers.filter { $0.failure != nil }, able = triggers.filter { $0.failure == nil }
        let lacks = failing.compactMap(\.failure).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        return said(able.filter { $0.runs && $0.ignored.isEmpty }, "run for the rows that an import changes")
            + said(
                able.filter { $0.runs && !$0.ignored.isEmpty },
                "run for the rows that an import changes, and what they write into synced tables is ignored then: those are what the version says")
            + said(
                failing,
                "cannot run without the application (\(lacks.joined(separator: ", "))); an import changes rows of these tables with triggers off and warns")
            + said(able.filter { !$0.runs }, "an import does not run them, as the dataset file says")
    }

    /// Whether an import does not do all that the trigger does elsewhere.
    package var isRestricted: Bool { !runs || !ignored.isEmpty }

    /// The trigger and what an import makes of it, in words.
    public var sentence: String {
        let found = "the trigger \(name) of \(table)\(writes.isEmpty ? "" : " writes \(writes.joined(separator: ", "))")"
        if let failure {
            return
                "\(found)\(writes.isEmpty ? "" : ",") and cannot run without the application (\(failure)); an import changes rows of \(table) with triggers off and warns"
        }
        guard runs else { return "\(found); an import does not run it, as the dataset file says" }
        guard !ignored.isEmpty else { return "\(found); it runs for the rows that an import changes" }
        return
            "\(found); it runs for the rows that an import changes, and what it writes into \(ignored.joined(separator: ", ")) is ignored then: synced tables are what the version says"
    }
}
