import CloudStore
import StrictText

/// What last write wins must come to, told by the rules alone: no table, no file, no trigger.
///
/// Of all states that an entity was ever given, the greatest of (instant, deletion over edit, hash) wins at every device that has
/// heard of it. A change's instant is max(min(its timestamp, the clock), the published instant that it replaces + 1 us, the instant of
/// an unpublished change of the same device + 1 us unless that lies in the future). A change that wins a tie gets the other's instant + 1 us.
struct PeerModel {
    /// One state of one entity.
    struct State: Equatable, CustomStringConvertible {
        let at: Int64
        /// The columns `changed` and `note`; nil is a deletion.
        let row: Row?

        var description: String { row.map { "'\($0.note.prefix(12))' (\($0.changed ?? "no time")) at \(at)" } ?? "deleted at \(at)" }

        /// Whether this state wins over another one of the same key.
        func wins(over other: State, key: String, hasTimestamp: Bool) -> Bool {
            if at != other.at { return at > other.at }
            guard let row, let otherRow = other.row else { return row == nil && other.row != nil }
            return row.hash(key, hasTimestamp) > otherRow.hash(key, hasTimestamp)
        }
    }

    struct Row: Equatable {
        let changed: String?
        let note: String

        /// SHA-256 of the canonical JSON, in hexadecimal.
        func hash(_ key: String, _ hasTimestamp: Bool) -> String {
            ContentHash.of(Array("{\"id\":\"\(key)\"\(changed.map { ",\"changed\":\"\($0)\"" } ?? ""),\"note\":\"\(note)\"}".utf8))
        }
    }

    typealias States = [String: State]

    let hasTimestamp: Bool
    /// What each device has.
    var devices: [States]
    /// What the zone's newest version has.
    var zone: States = [:]
    /// What the version that each device has applied has.
    var applied: [States]

    init(deviceCount: Int, hasTimestamp: Bool) {
        self.hasTimestamp = hasTimestamp
        devices = Array(repeating: [:], count: deviceCount)
        applied = devices
    }

    /// A device gives an entity a new state.
    ///
    /// - Parameters:
    ///   - stamp: the timestamp that the statement wrote, if it changed it and it is an instant, in microseconds.
    ///   - clock: the device's clock, in microseconds.
    mutating func change(_ key: String, at device: Int, to row: Row?, stamp: Int64?, clock: Int64) {
        let published = applied[device][key]?.at
        let own = devices[device][key].flatMap { $0.at != published && $0.at < clock + 1000 ? $0.at : nil }
        devices[device][key] = State(at: max(min(stamp ?? clock, clock), published.map { $0 + 1 } ?? .min, own.map { $0 + 1 } ?? .min), row: row)
    }

    /// A device sets unpublished instants that lie in the future of its clock back.
    mutating func correct(_ device: Int, clock: Int64) {
        for (key, state) in devices[device] where state != applied[device][key] && state.at > clock + 999 {
            let at = max(clock, applied[device][key].map { $0.at + 1 } ?? clock)
            if at < state.at { devices[device][key] = State(at: at, row: state.row) }
        }
    }

    /// A device takes in the zone's newest version.
    mutating func merge(into device: Int) {
        applied[device] = zone
        for (key, state) in zone {
            if let own = devices[device][key], !state.wins(over: own, key: key, hasTimestamp: hasTimestamp) {
                if own.at == state.at, own.row != state.row { devices[device][key] = State(at: own.at + 1, row: own.row) }
                continue
            }
            devices[device][key] = state
        }
    }
}

/// The instant of a text, in microseconds; nil if it is none.
func microseconds(_ text: String?) -> Int64? { text.flatMap { try? Instant(parsing: $0).microseconds } }
