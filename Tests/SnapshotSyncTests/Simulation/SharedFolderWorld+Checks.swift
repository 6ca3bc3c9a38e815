import LocalStore
import SnapshotModel
import StrictText

@testable import SnapshotTools

// What must be so.
extension SharedFolderWorld {
    /// Compares a device's rows with the model's.
    func check(_ device: Int) throws {
        let found = try devices[device].rows(), expected = model.devices[device].compactMapValues(\.entity)
        let dangling = found.values.filter { one in one.bucket.map { found["buckets/\($0)"] == nil } ?? false }.map { "\($0.key) has no bucket" }.sorted()
        guard dangling.isEmpty else { throw zone.difference(device, dangling) }
        guard found != expected else { return }
        let keys = Set(found.keys).union(expected.keys).filter { found[$0] != expected[$0] }.sorted()
        throw zone.difference(
            device, keys.map { "\($0): has \(found[$0]?.description ?? "nothing"), must be \(model.devices[device][$0]?.description ?? "nothing")" })
    }

    /// Compares all devices, their instants and their tombstones with the state that must have won.
    func checkAgreement() async throws {
        let winner = model.versions[model.newest] ?? [:]
        for (number, device) in devices.enumerated() {
            let differing = Set(winner.keys).union(model.devices[number].keys).filter { model.devices[number][$0] != winner[$0] }.sorted()
            guard differing.isEmpty else {
                throw zone.difference(
                    number,
                    differing.map {
                        "after two quiet rounds \($0) is \(model.devices[number][$0]?.description ?? "unknown"), in version \(model.newest) \(winner[$0]?.description ?? "unknown")"
                    })
            }
            try check(number)
            try device.database.read { transaction in
                for (key, state) in winner {
                    let isBucket = key.hasPrefix("buckets/"), schema = isBucket ? DatasetSchema.buckets : .notifications
                    let id = EntityKey(String(key.split(separator: "/")[1]))
                    let found =
                        state.entity == nil
                        ? try transaction.tombstonesAndInstants.tombstone(of: id, in: schema)?.microseconds
                        : try transaction.changeLog.instant(of: id, in: schema)?.microseconds
                    guard found == state.at || found == nil && state.at == .min else {
                        throw zone.difference(number, ["\(key): its instant is \(found.map(String.init) ?? "none"), must be \(state)"])
                    }
                }
                for schema in DatasetSchema.builtIn where try transaction.changeLog.summary(of: schema).count != 0 {
                    throw zone.difference(number, ["changes of \(schema.name) are tracked although all was published"])
                }
            }
            let problems = try await zone.engine(number).inspector().verify(all: number == 0, local: true).problems
            guard problems.isEmpty else { throw zone.difference(number, problems) }
        }
    }
}
