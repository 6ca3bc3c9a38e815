import Foundation
import StrictText
import Synchronization

/// Caches the content of each private zone and updates it from the zone's changes. The first listing of a zone reads the names of all its
/// records; each later one reads what has changed since.
final class CloudKitListings: Sendable {
    /// An object in a listing.
    struct Listed: Sendable {
        let name: String
        let byteCount: Int
        let modified: Instant

        /// Returns nil for a record that does not belong to this cloud.
        init?(_ record: CloudKitRecord) {
            guard case .integer(let size) = record.fields[CloudKitFile.size], size >= 0, let savedAt = record.savedAt else { return nil }
            name = record.name
            byteCount = Int(size)
            modified = savedAt
        }
    }

    /// A zone's records as of a token.
    private final class Zone: Sendable {
        struct State {
            var records: [String: Listed] = [:]
            var token: Data?
        }

        let state = Mutex(State())
    }

    private let zones = Mutex<[String: Zone]>([:])

    /// Returns the present records of a zone.
    ///
    /// - Parameter changes: fetches the next batch of changes since a token; blocks.
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
                // Only an expired token makes the cached records useless. After any other error the next listing continues from them.
                guard error.code == .changeTokenExpired else { throw error }
                state = Zone.State()
                zone.state.withLock { $0 = state }
                guard !wasReset else { throw error }
                wasReset = true
                continue
            }
            for record in batch.changed { state.records[record.name] = Listed(record) }
            for name in batch.deleted { state.records[name] = nil }
            state.token = batch.token
            if !batch.isMoreComing { break }
        }
        // If two listings run at the same time, each result is a state that the zone had, and the next listing continues from its token.
        zone.state.withLock { [state] in $0 = state }
        return Array(state.records.values)
    }
}
