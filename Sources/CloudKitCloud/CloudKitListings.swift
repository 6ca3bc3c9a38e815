import Foundation
import StrictText
import Synchronization

/// What is in each private zone, kept up to date by the zone's changes: the first listing reads the names of all its records, each later one what has
/// changed since.
final class CloudKitListings: Sendable {
    /// An object as a listing shows it.
    struct Listed: Sendable {
        let name: String
        let byteCount: Int
        let modified: Instant

        /// nil for a record that is none of this cloud.
        init?(_ record: CloudKitRecord) {
            guard case .integer(let size) = record.fields[CloudKitFile.size], size >= 0, let savedAt = record.savedAt else { return nil }
            name = record.name
            byteCount = Int(size)
            modified = savedAt
        }
    }

    /// A zone's records as of a token. One listing at a time reads on.
    private final class Zone: Sendable {
        struct State {
            var records: [String: Listed] = [:]
            var token: Data?
        }

        let state = Mutex(State())
    }

    private let zones = Mutex<[String: Zone]>([:])

    /// The records of a zone as they are now.
    ///
    /// - Parameter changes: the next batch of changes since a token; blocks.
    func records(of name: String, _ changes: (Data?) throws(CloudKitError) -> CloudKitChanges) throws(CloudKitError) -> [Listed] {
        let zone = zones.withLock { zones in
            let zone = zones[name] ?? Zone()
            zones[name] = zone
            return zone
        }
        var state = zone.state.withLock { $0 }, wasReset = false
        while true {
            let batch: CloudKitChanges
            do throws(CloudKitError) { batch = try changes(state.token) } catch {
                // What is known says nothing any more: read from the beginning, once.
                state = Zone.State()
                zone.state.withLock { $0 = state }
                guard error.code == .changeTokenExpired, !wasReset else { throw error }
                wasReset = true
                continue
            }
            for record in batch.changed { state.records[record.name] = Listed(record) }
            for name in batch.deleted { state.records[name] = nil }
            state.token = batch.token
            if !batch.isMoreComing { break }
        }
        // Two listings at a time: either state is one that the zone had, and the next listing goes on from its token.
        zone.state.withLock { [state] in $0 = state }
        return Array(state.records.values)
    }
}
