package import CloudStore
import LocalTables
import SnapshotModel
import SnapshotVersions
package import StrictText

/// A version that every prune keeps. The pin is a record of the zone, so that every pruning device sees it.
///
/// It names the checkpoint at the version by its hash. With the checkpoint, the version can be read after its commit is gone.
package struct VersionPin: Sendable, Hashable {
    package let version: Int
    /// The user's name for the pin; nil for none.
    package let name: String?
    /// The SHA-256 of the version's commit.
    package let commit: String
    package let checkpoint: CheckpointReference
    /// The version's own timestamp.
    package let timestamp: Instant
    package let pinnedAt: Instant

    package init(version: Int, name: String?, commit: String, checkpoint: CheckpointReference, timestamp: Instant, pinnedAt: Instant) {
        self.version = version
        self.name = name
        self.commit = commit
        self.checkpoint = checkpoint
        self.timestamp = timestamp
        self.pinnedAt = pinnedAt
    }

    init(_ pending: PendingPin, at now: Instant) {
        self.init(
            version: pending.version, name: pending.name, commit: pending.commit,
            checkpoint: CheckpointReference(number: pending.version, sha256: pending.checkpoint), timestamp: pending.timestamp, pinnedAt: now)
    }

    /// Reads a record; nil if it is not a pin, or not one that this version of the program can use.
    init?(_ record: CloudRecord) {
        guard record.type == Self.recordType, case .integer(let number) = record.fields["version"], let version = Int(exactly: number),
            (1...CloudNames.largestNumber).contains(version),
            record.name == Self.recordName(version), case .string(let commit) = record.fields["commit"],
            case .string(let checkpoint) = record.fields["checkpoint"], case .date(let timestamp) = record.fields["timestamp"],
            case .date(let pinnedAt) = record.fields["pinnedAt"]
        else { return nil }
        var name: String?
        if case .string(let text) = record.fields["name"] { name = text }
        self.init(
            version: version, name: name, commit: commit, checkpoint: CheckpointReference(number: version, sha256: checkpoint), timestamp: timestamp,
            pinnedAt: pinnedAt)
    }

    /// The pin as a record of the zone.
    package var record: CloudRecord {
        var fields: [String: CloudValue] = [
            "version": .integer(Int64(version)), "commit": .string(commit), "checkpoint": .string(checkpoint.sha256), "timestamp": .date(timestamp),
            "pinnedAt": .date(pinnedAt),
        ]
        if let name { fields["name"] = .string(name) }
        return CloudRecord(type: Self.recordType, name: Self.recordName(version), fields: fields)
    }

    static let recordType = "SnapshotPin"
    static func recordName(_ version: Int) -> String { "pin_\(version)" }
    package static func isRecordName(_ name: String) -> Bool { name.exact.hasPrefix("pin_") && Int(name.dropFirst(4)).map { recordName($0) == name } ?? false }
}

/// The record of the last prune. The commit that saves it names the checkpoint below which older versions can be removed.
package struct RetentionRecord: Sendable {
    /// The oldest version that was kept, apart from pinned ones.
    let oldestKept: Int
    let at: Instant

    package init(oldestKept: Int, at: Instant) {
        (self.oldestKept, self.at) = (oldestKept, at)
    }

    /// The record as it is stored in the zone.
    package var record: CloudRecord {
        CloudRecord(type: Self.recordType, name: Self.recordName, fields: ["oldestKept": .integer(Int64(oldestKept)), "at": .date(at)])
    }

    static let recordType = "SnapshotRetention"
    package static let recordName = "snapshot_retention"
}

extension CloudRecord {
    /// The type of the record that says why a backup beside a database was made.
    package static let backupType = "SnapshotCopy"

    /// Whether the record carries no dataset: a pin, the record of a prune, the key ranges of devices, the members or keys of a signed zone, its
    /// promise of freshness, or the reason of a backup.
    package var isOfVersions: Bool {
        [
            VersionPin.recordType, RetentionRecord.recordType, KeyRangeRecord.recordType, MemberList.recordType, KeyRing.recordType,
            FreshnessRecord.recordType, Self.backupType,
        ].contains(type)
    }
}

extension ZoneState {
    /// The pinned versions, sorted by number.
    package var pins: [VersionPin] { records.compactMap(VersionPin.init).sorted { $0.version < $1.version } }
}

/// The pins that `restore`, `replace` and `undo` have left for the next commit. They are checked again before that commit.
///
/// Another device may have pruned such a version in between, because it sees no pin before the commit. A pin that would keep nothing is not made.
/// The run reports it, and `undo` forgets the version.
struct PendingPins: Sendable {
    let context: SyncContext

    /// The pins for the next commit, and the pins whose versions are gone.
    struct Outcome: Sendable {
        var pins: [VersionPin] = []
        var lost: [PendingPin] = []

        var warnings: [String] {
            lost.map { one in
                let act = one.name.exact.hasPrefix("before the ") ? String(one.name.dropFirst(11)) : "last command"
                return
                    "version \(one.version), which the \(act) replaced, was pruned by another device before it could be pinned; it is gone, and undo cannot bring it back"
            }
        }
    }

    func check() async throws -> Outcome {
        var outcome = Outcome()
        for pending in try context.database.read({ try $0.state.pendingPins() }) {
            if let pin = try await pin(pending) { outcome.pins.append(pin) } else { outcome.lost.append(pending) }
        }
        return outcome
    }

    /// Returns the pin if the version can be read permanently. If the checkpoint is missing and the version's commit is kept, places the
    /// checkpoint again.
    private func pin(_ pending: PendingPin) async throws -> VersionPin? {
        let pin = VersionPin(pending, at: context.now())
        switch try await pin.look(in: context.cloud, context.zone) {
        case .checkpoint(let state): return try await hasAssets(state) ? pin : nil
        case .commit:
            let checkpoint = try await context.cloud.placeCheckpoint(at: pin.version, in: context.zone)
            return VersionPin(
                version: pin.version, name: pin.name, commit: pin.commit, checkpoint: checkpoint, timestamp: pin.timestamp, pinnedAt: pin.pinnedAt)
        case .nothing: return nil
        }
    }

    /// Whether the assets still exist of a version whose commit may be gone.
    private func hasAssets(_ state: ZoneState) async throws -> Bool {
        for asset in state.records.flatMap(\.assets) {
            do {
                let reader = try await context.cloud.openAsset(asset, in: context.zone)
                if asset.index != nil { _ = try reader.index() }
            } catch let error as CloudError where error.code == .pending || error.code == .unknownItem {
                return false
            } catch {
                throw SyncError(error, step: .fetch)
            }
        }
        return true
    }
}

/// Publishes a commit that changes no data, such as pins and the record of a prune.
///
/// The device's token moves to the new commit, so the device must have the newest version. It is imported first.
package struct MetadataPublisher: Sendable {
    let context: SyncContext

    package init(context: SyncContext) { self.context = context }

    /// The records that a commit saves and deletes. They are computed for the zone's state directly before the commit.
    package struct Changes: Sendable {
        package var saving: [CloudRecord] = []
        package var deleting: [String] = []
        var checkpoint: CheckpointReference?

        package init(saving: [CloudRecord] = [], deleting: [String] = [], checkpoint: CheckpointReference? = nil) {
            (self.saving, self.deleting, self.checkpoint) = (saving, deleting, checkpoint)
        }

        var isEmpty: Bool { saving.isEmpty && deleting.isEmpty }
    }

    /// How often a commit is made again if another device publishes first.
    private static let policy = RetryPolicy(attempts: 10)

    /// Publishes what `changes` returns, if anything. `changes` is called again after a lost race.
    ///
    /// - Returns: the zone's newest version.
    package func publish(_ changes: (ZoneState) async throws -> Changes) async throws -> ChangeToken {
        try await context.checkPublisher(.announce, else: "it makes no commits", hint: "run it on a device that publishes")
        for attempt in 1... {
            _ = try await ImportRun(context: context, progress: nil).importNewest()
            let token = try context.database.read { try $0.state.applied()?.token }
            let state = try await context.cloud.records(in: context.zone, at: token?.number, notBefore: token)
            // Check this before anything is put into the zone: a copy of the publishing database must not make pins in its name.
            let identity = try await context.checkIdentity(applied: token.map { AppliedVersion($0) }, commits: [])
            let wanted = try await changes(state)
            guard let token, !wanted.isEmpty else { return token ?? ChangeToken(number: 0, hash: "") }
            do {
                return try await MetadataPublisher(context: identity.context).commit(wanted, after: token)
            } catch  where attempt < Self.policy.attempts && SyncError(error).code == .tryAgainLater {
                try await Task.sleep(for: Self.policy.delay(after: attempt))
            }
        }
        throw SyncError(.tryAgainLater, step: .announce, at: context.zone.place, "other devices publish without a pause", hint: "run the same command again")
    }

    private func commit(_ changes: Changes, after token: ChangeToken) async throws -> ChangeToken {
        var draft = CommitDraft(device: context.settings.device, saving: changes.saving, deleting: changes.deleting, clock: context.now())
        draft.checkpoint = changes.checkpoint
        let prepared = try await context.cloud.prepare(draft, after: token, in: context.zone)
        // If we crash between publishing and recording the commit, the next run recognizes the commit as its own.
        try context.database.write { try $0.state.setIntended(IntendedVersion(version: AppliedVersion(prepared.token), sequences: [:])) }
        let published = try await context.cloud.publish(prepared)
        try context.database.write { transaction in
            try transaction.keepFields([:], of: context.settings.datasets, before: AppliedVersion(token), now: AppliedVersion(published))
            try transaction.state.setApplied(AppliedVersion(published))
            try transaction.state.setIntended(nil)
        }
        await context.report(published)
        return published
    }
}

extension SyncContext {
    /// Refuses a reader with `reason`, and a device that may not publish in the zone.
    package func checkPublisher(_ step: SyncStep, else reason: String, hint: String) async throws {
        guard settings.role.publishes else {
            throw SyncError(.refused, step: step, at: database.path, "this device is a \(settings.role.rawValue): \(reason)", hint: hint)
        }
        try await checkPublisher()
    }
}
