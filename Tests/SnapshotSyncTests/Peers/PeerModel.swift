import CloudStore
import StrictText

/// What last write wins must come to, told by the rules alone: no table, no file, no trigger.
///
/// Of all states that an entity was ever given, the greatest of (instant, deletion over edit, hash) wins at every device that has
/// heard of it. A change's instant is max(min(its timestamp, the clock), the instant that it replaces + 1 us).
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

    init(deviceCount: Int, hasTimestamp: Bool) {
        self.hasTimestamp = hasTimestamp
        devices = Array(repeating: [:], count: deviceCount)
    }

    /// A device gives an entity a new state.
    ///
    /// - Parameters:
    ///   - stamp: the timestamp that the statement wrote, if it changed it and it is an instant, in microseconds.
    ///   - clock: the device's clock, in microseconds.
    ///   - replaced: the instant of what it replaced, where that is not what the device has under the key.
    mutating func change(_ key: String, at device: Int, to row: Row?, stamp: Int64?, clock: Int64, replaced: Int64? = nil) {
        let seen = devices[device][key]?.at ?? replaced
        devices[device][key] = State(at: max(min(stamp ?? clock, clock), seen.map { $0 + 1 } ?? .min), row: row)
    }

    /// A device takes in the zone's newest version.
    mutating func merge(into device: Int) {
        for (key, state) in zone {
            if let own = devices[device][key], !state.wins(over: own, key: key, hasTimestamp: hasTimestamp) { continue }
            devices[device][key] = state
        }
    }
}

/// The instant of a text, in microseconds; nil if it is none.
func microseconds(_ text: String?) -> Int64? { text.flatMap { try? Instant(parsing: $0).microseconds } }
