package import CloudStore
import LocalStore
import SnapshotVersions
package import StrictText

/// Finds a zone's state at a version: from its commit, or, if that was pruned, from the checkpoint that its pin names.
package struct VersionFinder: Sendable {
    let cloud: CloudDatabase
    let zone: ZoneID
    /// The zone must have this commit; nil for a caller without a database.
    let token: ChangeToken?

    package init(cloud: CloudDatabase, zone: ZoneID, token: ChangeToken?) { (self.cloud, self.zone, self.token) = (cloud, zone, token) }

    /// Returns the records of a version; nil stands for the newest.
    ///
    /// - Throws: ``SyncError`` with `.nothingThere` if the version is neither kept nor pinned.
    package func state(of version: Int?) async throws -> ZoneState {
        do {
            return try await cloud.at(.fetch) { try await $0.records(in: zone, at: version, notBefore: token) }
        } catch let error as SyncError where error.code == .nothingThere && version != nil {
            let newest = try await cloud.at(.fetch) { try await $0.records(in: zone, at: nil, notBefore: token) }
            guard let pin = newest.pins.first(where: { $0.version == version }) else { throw error }
            switch try await pin.look(in: cloud, zone) {
            case .checkpoint(let state), .commit(let state): return state
            case .nothing(let reason): throw pin.cannotBeRead(reason)
            }
        }
    }

    /// Returns the newest kept or pinned version from before an instant.
    ///
    /// - Throws: ``SyncError`` with `.nothingThere` if there is none.
    package func newest(before instant: Instant) async throws -> Int {
        let commits = try await cloud.at(.fetch) { try await $0.history(in: zone) }
        if let commit = commits.last(where: { $0.timestamp < instant }) { return commit.token.number }
        let pins = try await state(of: nil).pins
        if let pin = pins.last(where: { $0.timestamp < instant }) { return pin.version }
        throw SyncError(
            .nothingThere, step: .fetch, at: "zone \(zone)", "no version from before \(instant) is kept",
            hint: "snapsync history lists the versions that are kept")
    }
}
