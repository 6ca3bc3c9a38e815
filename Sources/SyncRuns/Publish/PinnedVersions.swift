package import CloudStore
import LocalStore
import SnapshotVersions
package import StrictText

/// The pinned versions of a zone, separated into those that can be read and those that cannot.
///
/// A pin depends on the checkpoint that it names. While the version's own commit is kept, the checkpoint can be made again. If both are gone, the
/// pin keeps nothing. One such pin stops nothing else: the reader of the pins reports it and continues with the others.
package struct PinnedVersions: Sendable {
    /// A pin that keeps nothing, and the reason.
    package struct Unreadable: Sendable {
        package let pin: VersionPin
        package let error: SyncError
    }

    package let pins: [VersionPin]
    /// The records of the readable versions, with their version numbers.
    package private(set) var records: [(record: CloudRecord, version: Int)] = []
    /// The pins whose checkpoint is missing or damaged while their commit still exists.
    package private(set) var withoutCheckpoint: [VersionPin] = []
    package private(set) var unreadable: [Unreadable] = []

    /// The numbers of the readable versions.
    package var readable: [Int] { pins.map(\.version).filter { version in !unreadable.contains { $0.pin.version == version } } }

    package init(_ pins: [VersionPin], in cloud: CloudDatabase, _ zone: ZoneID) async throws {
        self.pins = pins
        for pin in pins {
            switch try await pin.look(in: cloud, zone) {
            case .checkpoint(let state): records += state.records.map { ($0, pin.version) }
            case .commit(let state):
                records += state.records.map { ($0, pin.version) }
                withoutCheckpoint.append(pin)
            case .nothing(let reason): unreadable.append(Unreadable(pin: pin, error: pin.cannotBeRead(reason)))
            }
        }
    }
}

extension VersionPin {
    /// The source from which a pinned version can be read.
    enum Look: Sendable {
        /// The checkpoint that the pin names.
        case checkpoint(ZoneState)
        /// Only the version's own commit.
        case commit(ZoneState)
        /// None, for this reason.
        case nothing(String)
    }

    /// Finds the source of the version: its checkpoint, else its commit.
    func look(in cloud: CloudDatabase, _ zone: ZoneID) async throws -> Look {
        var reason = "its checkpoint is one of another version"
        if let state = try await Self.ifThere({ try await cloud.records(in: zone, of: checkpoint) }, reason: &reason), state.token?.hash == commit {
            return .checkpoint(state)
        }
        var ignored = ""
        if let state = try await Self.ifThere({ try await cloud.records(in: zone, at: version, notBefore: nil) }, reason: &ignored), state.token?.hash == commit
        {
            return .commit(state)
        }
        return .nothing(reason)
    }

    private static func ifThere(_ read: () async throws -> ZoneState, reason: inout String) async throws -> ZoneState? {
        do {
            return try await read()
        } catch let error as CloudError where [.unknownItem, .damaged, .pending].contains(error.code) {
            reason = error.reason
            return nil
        }
    }

    /// The checkpoint's path below the zone's directory.
    package var checkpointPath: String { "\(CloudNames.checkpoints)/\(CloudNames.digits(version)).json" }

    /// The error for a pin without a checkpoint: the version is lost once its commit is pruned.
    package var checkpointIsMissing: SyncError {
        SyncError(
            .dataRefused, step: .verify, at: "pin of version \(version)", "its checkpoint is missing or damaged; the version's commit is still there",
            hint: "run snapsync repair, which makes the checkpoint again; so does the next prune")
    }

    /// The error for a pin that keeps nothing.
    func cannotBeRead(_ reason: String) -> SyncError {
        SyncError(
            .dataRefused, step: .verify, at: "pin of version \(version)",
            "the pinned version cannot be read: \(reason), and its commit was pruned or is not there",
            hint:
                "if a sync tool is bringing files, wait for it; else bring \(checkpointPath) back from a copy of the directory, or let the version go: snapsync pin DB \(version) --remove on a device that publishes"
        )
    }
}

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
            return try await cloud.records(in: zone, at: version, notBefore: token)
        } catch  where version != nil && SyncError(error).code == .nothingThere {
            let newest = try await cloud.records(in: zone, at: nil, notBefore: token)
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
        let commits = try await cloud.history(in: zone)
        if let commit = commits.last(where: { $0.timestamp < instant }) { return commit.token.number }
        let pins = try await state(of: nil).pins
        if let pin = pins.last(where: { $0.timestamp < instant }) { return pin.version }
        throw SyncError(
            .nothingThere, step: .fetch, at: zone.place, "no version from before \(instant) is kept",
            hint: "snapsync log lists the versions that are kept")
    }
}
