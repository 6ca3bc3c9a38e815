package import CloudStore
import LocalTables
public import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

/// A zone's kept versions.
public struct HistoryReport: Sendable, Encodable {
    public struct Version: Sendable, Encodable {
        public struct Dataset: Sendable, Encodable {
            public let record: String
            public let recordCount: Int
            /// The newest snapshot asset.
            public let file: String
            /// Its size in bytes.
            public let size: Int
            /// The change assets after the snapshot asset, oldest first. Snapshot and changes together make up the version.
            public let changeFiles: [String]
            /// The total size of the change assets, in bytes.
            public let changeSize: Int

            init?(_ record: CloudRecord) {
                guard let fields = DatasetRecord(record) else { return nil }
                self.record = record.name
                recordCount = fields.recordCount
                file = fields.dataFile.path
                size = fields.dataFile.byteCount
                changeFiles = fields.changeFiles.map(\.path)
                changeSize = fields.changeByteCount
            }
        }

        public let version: Int
        public let timestamp: String
        public let device: String
        /// SHA-256 of the commit's bytes.
        public let hash: String
        /// In a signed zone: the Ed25519 public key that signed the version, as 64 hexadecimal digits.
        public let key: String?
        /// The datasets that the version changed.
        public let saved: [Dataset]
        public let deleted: [String]

        init(_ commit: Commit) {
            version = commit.token.number
            timestamp = commit.timestamp.description
            device = commit.device
            hash = commit.token.hash
            key = commit.key
            saved = commit.saved.compactMap(Dataset.init)
            deleted = commit.deleted
        }
    }

    /// A version that pruning keeps.
    public struct Pin: Sendable, Encodable {
        public let version: Int
        public let name: String?
        /// The timestamp of the pinned version.
        public let timestamp: String
        public let pinnedAt: String
        /// Whether the commit of the version was pruned. The version can still be read, but appears in no other list.
        public let isPruned: Bool

        init(_ pin: VersionPin, isPruned: Bool) {
            version = pin.version
            name = pin.name
            timestamp = pin.timestamp.description
            pinnedAt = pin.pinnedAt.description
            self.isPruned = isPruned
        }
    }

    public let zone: String
    public let newestVersion: Int?
    /// Newest first.
    public let versions: [Version]
    /// The pinned versions, newest first.
    public let pins: [Pin]
}

extension HistoryReport {
    /// Reads the history of a zone.
    package init(of zone: ZoneID, in cloud: CloudDatabase, limit: Int?) async throws {
        let commits = try await cloud.history(in: zone)
        let newestFirst = commits.reversed().prefix(max(0, limit ?? .max))
        let pins = commits.isEmpty ? [] : try await cloud.records(in: zone, at: nil, notBefore: nil).pins
        self.init(
            zone: zone.name, newestVersion: commits.last?.token.number, versions: newestFirst.map(Version.init),
            pins: pins.reversed().map { pin in Pin(pin, isPruned: !commits.contains { $0.token.number == pin.version }) })
    }
}

extension SyncVersions {
    /// The zone's kept versions and pins, newest first.
    ///
    /// - Parameter limit: how many versions at most; nil for all.
    public func list(limit: Int? = nil) async throws -> HistoryReport {
        try await WorkerThreads.host {
            try await engine.gate.enter()
            let context = try engine.context()
            return try await HistoryReport(of: context.zone, in: context.cloud, limit: limit)
        }
    }
}

/// The result of `pin` or `unpin`.
package struct PinReport: Sendable, Encodable {
    /// The requested version.
    package let version: Int
    package let name: String?
    /// Whether the version is pinned now.
    package let isPinned: Bool
    /// Whether a commit was made; false if there was nothing to change.
    package let changed: Bool
    /// The zone's newest version afterwards.
    package let newestVersion: Int
}

extension SyncVersions {
    /// Pins a version, so that pruning keeps it until ``unpin(_:)``. Publishers only; the pin applies to all devices.
    package func pin(_ version: Int, name: String? = nil) async throws -> PinReport {
        try await engine.locked {
            let context = try engine.context()
            // Find the version before the import, so that nothing is changed if it does not exist.
            if context.settings.role.publishes { _ = try await VersionFinder(cloud: context.cloud, zone: context.zone, token: nil).state(of: version) }
            var changed = false
            let token = try await MetadataPublisher(context: context).publish { state in
                if let pin = state.pins.first(where: { $0.version == version }), pin.name?.exact == name?.exact { return MetadataPublisher.Changes() }
                changed = true
                return MetadataPublisher.Changes(saving: [try await context.makePin(of: version, name: name).record])
            }
            // A concurrent prune that listed the pins before this commit may have removed files of the pinned version, so check them.
            if changed {
                let pins = try await context.cloud.records(in: context.zone).pins.filter { $0.version == version }
                if let gone = try await PinnedVersions(pins, in: context.cloud, context.zone).unreadable.first { throw gone.error }
            }
            return PinReport(version: version, name: name, isPinned: true, changed: changed, newestVersion: token.number)
        }
    }

    /// Removes the pin of a version, so that pruning can remove the version.
    package func unpin(_ version: Int) async throws -> PinReport {
        try await engine.locked {
            let token = try await MetadataPublisher(context: engine.context()).publish { state in
                guard let pin = state.pins.first(where: { $0.version == version }) else {
                    let pinned = state.pins.map { String($0.version) }.joined(separator: ", ")
                    throw SyncError(
                        .nothingThere, step: .announce, at: "version \(version)", "it is not pinned",
                        hint: pinned.isEmpty ? "no version is" : "pinned are \(pinned)")
                }
                return MetadataPublisher.Changes(deleting: [pin.record.name])
            }
            return PinReport(version: version, name: nil, isPinned: false, changed: true, newestVersion: token.number)
        }
    }
}

extension SyncContext {
    /// Makes a pin of a kept version, and writes the version's checkpoint.
    func makePin(of version: Int, name: String?) async throws -> VersionPin {
        let state = try await VersionFinder(cloud: cloud, zone: zone, token: nil).state(of: version)
        guard let token = state.token, let timestamp = state.timestamp else {
            throw SyncError(.nothingThere, step: .fetch, at: "version \(version)", "there is no such version", hint: "snapsync log lists the versions")
        }
        // An already pinned version has its checkpoint, so a new name needs no new one.
        let newest = try await VersionFinder(cloud: cloud, zone: zone, token: nil).state(of: nil)
        let known = newest.pins.first { $0.version == version }?.checkpoint
        let checkpoint: CheckpointReference
        if let known { checkpoint = known } else { checkpoint = try await cloud.placeCheckpoint(at: version, in: zone) }
        return VersionPin(version: version, name: name, commit: token.hash, checkpoint: checkpoint, timestamp: timestamp, pinnedAt: now())
    }
}
