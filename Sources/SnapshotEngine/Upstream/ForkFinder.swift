import CloudStore
import CommitLog
import LocalStore
import SnapshotVersions

/// Tells a fork from a rollback: whether the version that is here lost its number to another device's commit.
///
/// That happens where a tool replicates the folder of a zone in which many devices publish: each saw its own copy, and both
/// put the same number in place. What stands under the plain name counts. A device follows it once it is certain, and the
/// author of the other commit publishes its changes again.
struct ForkFinder: Sendable {
    let device: SyncContext

    /// What the zone has beyond the last version that it has in common with this device.
    ///
    /// - Parameter error: what came of reading on from `applied`.
    /// - Throws: `error`, if this is no fork, or none that is certain; it says what was found.
    func news(after error: CloudError, applied: AppliedVersion?) async throws -> UpstreamChanges {
        guard let applied, try await device.zoneInfo(at: .fetch).publishers == .many else {
            throw SyncError(error, step: .fetch)
        }
        let copies = try await device.cloud.at(.fetch).conflictCopies(in: device.zone)
        guard error.code == .rolledBack, let (common, changes) = try await lastInCommon(before: applied) else { throw Self.explained(error, copies) }
        guard let newest = changes.token, newest.number > common.number else { throw SyncError(error, step: .fetch) }
        // The tool has decided where it put our own commit aside, or where somebody has gone on from the other one.
        let isDecided = newest.number > applied.number || newest.number == applied.number && copies.contains { $0.token == applied.token }
        guard isDecided else {
            throw SyncError(
                .dataRefused, step: .fetch, at: error.place,
                "\(error.reason); it may be a fork, two commits of one number, but nobody has gone on from the one that is there",
                hint: "if a tool replicates the folder, this ends by itself when the other device publishes again; else an older copy was put back")
        }
        if let signed = device.signedZone, signed.keys != nil {
            // The keys that are known may be those of a commit that does not count.
            let record = try await signed.cloud.at(.fetch).records(in: device.zone).record(KeyRing.recordName)
            try SyncError.at(.verify) { try signed.authority.replaceKeys(by: record, of: signed.history) }
        }
        return UpstreamChanges(
            applied: applied, changes: changes, fork: common,
            warnings: [
                "a fork: version \(common.number + 1) was published by two devices, and another device's stands; what only this device had published is published again"
            ])
    }

    /// The newest version that was here and that the zone goes on from; nil if there is none.
    private func lastInCommon(before applied: AppliedVersion) async throws -> (AppliedVersion, ZoneChanges)? {
        let lineage = try device.database.read(at: .read) { try $0.lineage.versions() }
        for version in lineage where version.number < applied.number {
            do {
                return (version, try await device.cloud.changes(since: version.token, in: device.zone))
            } catch let error as CloudError where error.code == .rolledBack {
                continue
            } catch let error as CloudError where error.code == .changeTokenExpired || error.code == .damaged {
                return nil
            } catch var error as CloudError where error.code == .zoneMoved {
                error.commonVersion = version.number
                throw SyncError(error, step: .fetch)
            } catch {
                throw SyncError(error, step: .fetch)
            }
        }
        return nil
    }

    /// The error, and where a conflict copy is the very commit that a later one was made after, which.
    static func explained(_ error: CloudError, _ copies: [ConflictCopy]) -> SyncError {
        guard let parent = error.missingParent, !copies.isEmpty else { return SyncError(error, step: .fetch) }
        let what = "two devices published one number, and the commits under the plain names do not follow one another"
        guard let copy = copies.first(where: { $0.token == parent }) else {
            return SyncError(
                .dataRefused, step: .fetch, at: error.place, "\(error.reason); that commit \(parent.number) lies nowhere in commits/",
                hint: "\(what); if a sync tool is bringing files, wait for it; else run: snapsync doctor")
        }
        return SyncError(
            .dataRefused, step: .fetch, at: error.place,
            "\(error.reason); commits/\(copy.fileName) is another commit \(copy.token.number), by \(copy.device), and the one that it was made after",
            hint: "\(what); run: snapsync repair, which does what can be done by hand, too: give it its plain name and keep the other one aside")
    }
}

extension SyncContext {
    /// All live records as of a commit, in a zone that is not behind `version`.
    ///
    /// - Throws: ``SyncError``; where a fork has left commits that do not follow one another, it says which.
    func records(at number: Int?, notBefore version: AppliedVersion?) async throws -> ZoneState {
        do {
            return try await cloud.records(in: zone, at: number, notBefore: version?.token)
        } catch let error as CloudError where error.code == .damaged {
            let copies = try await cloud.at(.fetch).conflictCopies(in: zone)
            throw ForkFinder.explained(error, copies)
        } catch {
            throw SyncError(error, step: .fetch)
        }
    }
}
