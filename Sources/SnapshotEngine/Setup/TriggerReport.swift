package import LocalStore
package import SnapshotModel
import StrictText

/// A trigger of the application on a synced table, and what an import does with it.
public struct TriggerReport: Sendable, Encodable, Hashable {
    public let name: String
    public let dataset: String
    public let table: String
    /// The tables that the trigger writes, directly or through further triggers.
    public let writes: [String]
    /// The synced tables among them. An import ignores what the trigger writes there.
    public let ignored: [String]
    /// Whether the trigger runs when an import changes rows. It does not if the dataset file says `"triggers": "off"`, or if it needs something
    /// that is missing.
    public let runs: Bool
    /// SQLite's message about what the trigger needs and only the application has; nil if there is nothing.
    public let failure: String?

    package init(_ trigger: TriggerSurvey.Trigger, datasets: [DatasetSchema]) {
        let own = Set(datasets.map { $0.table.folded })
        name = trigger.name
        dataset = trigger.dataset
        table = trigger.table
        writes = trigger.writes
        ignored = trigger.writes.filter { own.contains($0.folded) }
        failure = trigger.failure
        runs = trigger.failure == nil && datasets.first { $0.name == trigger.dataset }?.triggers != .off
    }

    /// Summarises several triggers: one sentence for each group with the same result.
    package static func summary(_ triggers: [TriggerReport]) -> [String] {
        func said(_ chosen: [TriggerReport], _ what: String) -> [String] {
            guard !chosen.isEmpty else { return [] }
            let tables = chosen.reduce(into: [String]()) { if !$0.map(\.exact).contains($1.table.exact) { $0.append($1.table) } }.joined(separator: ", ")
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

    /// Whether an import does less than the trigger does otherwise.
    package var isRestricted: Bool { !runs || !ignored.isEmpty }

    /// The trigger and what an import does with it, as a sentence.
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
