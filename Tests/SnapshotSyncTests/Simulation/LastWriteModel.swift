import CloudStore

/// What last write wins must come to for each version and each device, told by the rules alone: no table, no file, no trigger.
///
/// Of all states that an entity was ever given, the greatest of (instant, deletion over edit, hash) wins at every device that has
/// heard of it. A change's instant is max(min(its timestamp, the clock), the published instant that it replaces + 1 us, the instant of
/// an unpublished change of the same device + 1 us unless that lies in the future).
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
    /// What a device has published, where its database does not know of that yet.
    private var unnoted: [Int: States] = [:]

    init(deviceCount: Int) {
        devices = Array(repeating: [:], count: deviceCount)
        applied = Array(repeating: 0, count: deviceCount)
    }

    /// A device gives an entity a new state.
    ///
    /// - Parameters:
    ///   - stamp: the timestamp that the statement wrote, if it changed it and it is an instant, in microseconds.
    ///   - clock: the device's clock, in microseconds.
    ///   - isSent: whether a message has told what the device has under the key.
    mutating func change(_ key: String, at device: Int, to entity: SimulatedEntity?, stamp: Int64?, clock: Int64, isSent: Bool = false) {
        let seen = base(device)[key]?.at
        let own = devices[device][key].flatMap { $0.at != seen && ($0.at < clock + 1000 || isSent) ? $0.at : nil }
        devices[device][key] = State(at: max(min(stamp ?? clock, clock), seen.map { $0 + 1 } ?? .min, own.map { $0 + 1 } ?? .min), entity: entity)
    }

    /// What the version that a device has published or taken in last has.
    private func base(_ device: Int) -> States { unnoted[device] ?? versions[applied[device]] ?? [:] }

    /// A device has published a version, which its database may not know yet.
    mutating func note(_ states: States, by device: Int) { unnoted[device] = states }

    /// The unpublished states of a device whose instants lie in the future of its clock, and what a run makes of them.
    func corrections(_ device: Int, clock: Int64) -> [String: (from: State, to: State)] {
        let base = base(device)
        var found: [String: (from: State, to: State)] = [:]
        for (key, state) in devices[device] where state != base[key] && state.at > clock + 999 {
            let at = max(clock, base[key].map { $0.at + 1 } ?? clock)
            if at < state.at { found[key] = (state, State(at: at, entity: state.entity)) }
        }
        return found
    }

    /// A device takes in a version. At a device that publishes, a change that wins a tie gets the version's instant + 1 us.
    mutating func merge(_ version: Int, into device: Int, publishes: Bool) {
        applied[device] = version
        unnoted[device] = nil
        for (key, state) in versions[version] ?? [:] {
            if let own = devices[device][key], !state.wins(over: own) {
                if publishes, own.at == state.at, own.entity != state.entity { devices[device][key] = State(at: own.at + 1, entity: own.entity) }
                continue
            }
            devices[device][key] = state
        }
    }

    /// A version was published.
    mutating func publish(_ states: States) {
        newest += 1
        versions[newest] = states
    }
}
