import CloudStore

/// What last write wins must come to for each version and each device, told by the rules alone: no table, no file, no trigger.
///
/// Of all states that an entity was ever given, the greatest of (instant, deletion over edit, hash) wins at every device that has
/// heard of it. A change's instant is max(min(its timestamp, the clock), the instant that it replaces + 1 us).
struct LastWriteModel {
    /// One state of one entity; nil is a deletion.
    struct State: Equatable, CustomStringConvertible {
        let at: Int64
        let entity: SimulatedEntity?

        func wins(over other: State) -> Bool {
            if at != other.at { return at > other.at }
            guard let entity, let otherEntity = other.entity else { return entity == nil && other.entity != nil }
            return ContentHash.of(Array(entity.json.utf8)) > ContentHash.of(Array(otherEntity.json.utf8))
        }

        var description: String { (entity.map { "\($0)" } ?? "deleted") + " at \(at)" }
    }

    typealias States = [String: State]

    /// What each device has, by dataset and id.
    var devices: [States]
    /// What each version has.
    private(set) var versions: [Int: States] = [:]
    /// The newest version that each device has had; 0 for none.
    private(set) var applied: [Int]
    /// The newest version.
    private(set) var newest = 0

    init(deviceCount: Int) {
        devices = Array(repeating: [:], count: deviceCount)
        applied = Array(repeating: 0, count: deviceCount)
    }

    /// A device gives an entity a new state.
    ///
    /// - Parameters:
    ///   - stamp: the timestamp that the statement wrote, if it changed it and it is an instant, in microseconds.
    ///   - clock: the device's clock, in microseconds.
    ///   - replaced: the instant of what it replaced, where that is not what the device has under the key.
    mutating func change(_ key: String, at device: Int, to entity: SimulatedEntity?, stamp: Int64?, clock: Int64, replaced: Int64? = nil) {
        let seen = devices[device][key]?.at ?? replaced
        devices[device][key] = State(at: max(min(stamp ?? clock, clock), seen.map { $0 + 1 } ?? .min), entity: entity)
    }

    /// A device takes in a version.
    mutating func merge(_ version: Int, into device: Int) {
        applied[device] = version
        for (key, state) in versions[version] ?? [:] {
            if let own = devices[device][key], !state.wins(over: own) { continue }
            devices[device][key] = state
        }
    }

    /// A version was published.
    mutating func publish(_ states: States) {
        newest += 1
        versions[newest] = states
    }
}
