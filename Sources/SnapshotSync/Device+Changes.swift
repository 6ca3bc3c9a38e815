import CloudStore
import LocalStore

extension Device {
    /// The commits after what is applied here; where those were pruned, all that is needed to know the zone whole.
    ///
    /// - Returns: the changes, and whether the token had expired: then nothing is known of what lies between, and the rows are
    ///   compared with the newest version, block by block.
    func changes(since applied: AppliedVersion?) async throws -> (changes: ZoneChanges, isExpired: Bool) {
        try await SyncError.at(.fetch) {
            do {
                return (try await cloud.changes(since: applied?.token, in: zone), false)
            } catch let error as CloudError where error.code == .changeTokenExpired {
                return (try await cloud.changes(since: nil, in: zone), true)
            }
        }
    }
}
