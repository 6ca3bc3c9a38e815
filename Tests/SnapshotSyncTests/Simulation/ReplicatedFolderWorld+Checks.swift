import CloudStore
import DirectoryCloud
import LocalStore
import SnapshotModel
import StrictText

@testable import SnapshotTools

// What must be so.
extension ReplicatedFolderWorld {
    /// Whether the model of last write wins says exactly what must be there.
    private func isExact(_ key: String) -> Bool { key.hasPrefix("buckets/") ? !deleted.contains(key) : !marks }

    /// What a device shows: exactly what the model says, or, where that is not known, the version's row unless the device has a change of its own.
    func check(_ device: Int) throws {
        let rows = try devices[device].rows()
        let expected = model.devices[device].compactMapValues(\.entity)
        var wrong = Set(rows.keys).union(expected.keys).filter { isExact($0) && rows[$0] != expected[$0] }.sorted()
            .map { "\($0): has \(rows[$0]?.description ?? "nothing"), must be \(model.devices[device][$0]?.description ?? "nothing")" }
        if device > 0, model.applied[device] > 0 {
            let version = published[model.applied[device] - 1], own = given[device] ?? [:]
            let open = try openKeys(device)
            for key in Set(rows.keys).union(version.keys).sorted() where !isExact(key) && rows[key] != version[key] {
                let isMine = own[key]?.contains { $0.entity == rows[key] } == true
                let isRevived = rows[key]?.isOrphan == true
                // A mark on top of the version's row.
                let isMarked =
                    rows[key].map { row in
                        version[key].map { $0.title == row.title && $0.bucket == row.bucket } == true
                            && own[key]?.contains { $0.entity?.readAt == row.readAt } == true
                    } ?? false
                if !open.contains(key) || !(isMine || isMarked || isRevived) {
                    wrong.append(
                        "\(key): shows \(rows[key]?.description ?? "nothing"), version \(model.applied[device]) has \(version[key]?.description ?? "nothing")\(open.contains(key) ? "" : ", and no change of its own waits")"
                    )
                }
            }
        }
        let dangling = rows.values.filter { one in one.bucket.map { rows["buckets/\($0)"] == nil } ?? false }.map { "\($0.key) has no bucket" }
        guard wrong.isEmpty, dangling.isEmpty else { throw zone.difference(device, wrong + dangling.sorted()) }
    }

    /// The entities of which a device has changes that no version has ended.
    func openKeys(_ device: Int) throws -> Set<String> {
        try devices[device].database.read { transaction in
            var keys: Set<String> = []
            for schema in DatasetSchema.builtIn {
                for key in try transaction.changeLog.touchedKeys(of: schema, in: KeyRange(number: 0, first: nil, next: nil)) {
                    if case .text(let bytes) = key { keys.insert("\(schema.name)/\(String(decoding: bytes, as: UTF8.self))") }
                }
            }
            return keys
        }
    }

    /// All devices have what the writer has, everything told was answered, and nothing that should stand is gone.
    func checkAgreement() async throws {
        let rows = try devices[0].rows()
        for (number, device) in devices.enumerated() {
            let found = try device.rows()
            guard found == rows else {
                let keys = Set(found.keys).union(rows.keys).filter { found[$0] != rows[$0] }.sorted()
                throw zone.difference(
                    number,
                    keys.map { "after two quiet rounds \($0) is \(found[$0]?.description ?? "nothing"), at the writer \(rows[$0]?.description ?? "nothing")" })
            }
            let problems = try await zone.engine(number).inspector().verify(all: number < 2, local: true).problems
            guard problems.isEmpty else { throw zone.difference(number, problems) }
            let waiting = try device.database.read { try $0.outbox.entries(onlyMessages: true).filter { $0.state != .applied && $0.state != .refused } }
            guard waiting.isEmpty, try device.database.read({ try $0.outbox.overlayCount() }) == 0 else {
                throw zone.difference(
                    number, ["\(waiting.count) messages are not answered, \(try device.database.read { try $0.outbox.overlayCount() }) changes stay"])
            }
            guard
                !zone.disk.files(in: device.root).keys.contains(where: {
                    $0.contains("/messages/") && !tool.wereGone.contains($0) && !$0.lowercased().contains("conflict") && !$0.contains("/.")
                })
            else { throw zone.difference(number, ["answered messages lie in the mailbox"]) }
        }
        let named = try await zone.cloud(of: 0).history(in: zone.zone).flatMap { $0.messages.applied + $0.messages.refused }
        guard Set(named).count == named.count else { throw zone.difference(0, ["a message was answered twice"]) }
        try checkNothingIsLost(rows)
    }

    /// Of what nobody deleted: the greatest of all changes stands; a title is the writer's last; and a mark of the only one who marks is its last,
    /// unless that one may have missed an answer, when last write wins decides between the mark and an edit of the text.
    private func checkNothingIsLost(_ rows: [String: SimulatedEntity]) throws {
        for key in Set(given.values.flatMap(\.keys)).subtracting(deleted).sorted() {
            let states = given.values.flatMap { $0[key] ?? [] }.filter { overruled[key]?.contains($0) != true }
            if isExact(key) {
                var winner = states[0]
                for state in states where state.wins(over: winner) { winner = state }
                guard rows[key] == winner.entity else {
                    throw zone.difference(nil, ["\(key) is \(rows[key]?.description ?? "gone"), but the last write was \(winner)"])
                }
            } else if key.hasPrefix("notifications/") {
                guard let last = given[0]?[key]?.last?.entity, rows[key]?.title == last.title else {
                    throw zone.difference(nil, ["the title of \(key) is not the writer's last"])
                }
                if let one = markers[key], one.count == 1, let device = one.first, device > 0, !inDoubt.contains(device),
                    let mark = given[device]?[key]?.last?.entity, rows[key]?.readAt != mark.readAt
                {
                    throw zone.difference(
                        nil,
                        [
                            "\(key) is read \(rows[key]?.readAt ?? "never"), but \(devices[device].name), the only one who marked it, said \(mark.readAt ?? "never")"
                        ])
                }
            }
        }
    }
}
