import LocalStore
@testable import LocalTables

/// A judge that knows no rule of merging: every title that was ever written is in a row, was replaced by somebody who had seen it, or is in a journal.
struct TitleJudge {
    /// Every title that was written. No two are equal.
    private var given: Set<String> = []
    private var replaced: Set<String> = []

    /// An application has made one row of another one; nil: of nothing, or nothing of it.
    mutating func note(_ before: SimulatedEntity?, _ after: SimulatedEntity?) {
        if let after { given.insert(after.title) }
        if let before, before.title != after?.title { replaced.insert(before.title) }
    }

    /// - Parameter rows: what all devices have in the end.
    func verify(_ rows: [String: SimulatedEntity], _ zone: SimulatedZone) throws {
        var lost = given.subtracting(replaced).subtracting(rows.values.map(\.title))
        for device in zone.devices where !lost.isEmpty {
            for entry in try device.database.read({ try $0.conflictJournal.entries() }) {
                guard let loser = entry.conflict.loser.entity else { continue }
                lost = lost.filter { !loser.contains("\"\($0)\"") }
            }
        }
        guard lost.isEmpty else {
            throw zone.difference(nil, lost.sorted().map { "'\($0.prefix(14))' is in no row and in no journal, and nobody who saw it replaced it" })
        }
    }
}
