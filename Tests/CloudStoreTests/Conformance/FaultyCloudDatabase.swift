import CloudStore
import CommitLog
import Foundation
import StrictText

/// A way in which a backend may break its contract.
enum CloudFault: String, CaseIterable, Sendable {
    case losesUpdate, overwritesCommit, tearsCommit, keepsTag, hidesLostRace, ignoresDeletion, skipsCommit, repeatsCommit, corruptsAsset
    case roundsDates, dropsBytes, acceptsForeignToken, hidesMissingZone, letsAnyonePublish, ignoresVersion, discardsNamedAsset
    case forgetsCreator, forgetsDeletionReason, publishesOnPrepare, mixesZones
    case losesMessage, replacesMessage, keepsRemovedMessage, mixesSenders

    /// The check that is there for it; others may fail too.
    var revealingCheck: String {
        switch self {
        case .losesUpdate: "aPublishedCommitIsThere"
        case .overwritesCommit, .hidesLostRace: "aLostRaceIsTold"
        case .tearsCommit: "aCommitIsAllOrNothing"
        case .keepsTag: "everySaveChangesTheTag"
        case .ignoresDeletion: "aZonesChangesAreEachRecordOnce"
        case .skipsCommit, .repeatsCommit: "changesComeOnceAndInOrder"
        case .corruptsAsset: "anAssetComesBackByteForByte"
        case .roundsDates, .dropsBytes: "everyTypeOfValueComesBack"
        case .acceptsForeignToken: "aTokenOfAnotherHistoryIsRefused"
        case .hidesMissingZone: "aMissingZoneIsToldByEveryCall"
        case .letsAnyonePublish: "underOnePublisherOthersAreRefused"
        case .ignoresVersion: "everyVersionCanBeRead"
        case .discardsNamedAsset: "discardingSparesWhatACommitNames"
        case .forgetsCreator: "aSavedRecordSaysWhoAndWhen"
        case .forgetsDeletionReason: "aDeletedZoneSaysWhyToEveryCall"
        case .publishesOnPrepare: "preparingPublishesNothing"
        case .mixesZones: "zonesShareNothing"
        case .losesMessage, .keepsRemovedMessage: "aMessageWaitsUntilItsSenderRemovesIt"
        case .replacesMessage: "aMessageIsNeverReplaced"
        case .mixesSenders: "messagesComeBySenderAndInTheOrderOfTheirIDs"
        }
    }
}

/// A memory cloud with one fault.
struct FaultyCloudDatabase: CloudDatabaseDecorator {
    let memory: MemoryCloudDatabase
    let fault: CloudFault
    var wrapped: any CloudDatabase { memory }

    init(_ fault: CloudFault) {
        memory = MemoryCloudDatabase(container: "iCloud.org.example.test")
        self.fault = fault
    }

    func prepare(_ draft: CommitDraft, after token: ChangeToken?, in zone: ZoneID) async throws -> PreparedCommit {
        do {
            let commit = try await memory.prepare(draft, after: token, in: zone)
            if fault == .publishesOnPrepare { _ = try await memory.publish(commit) }
            return commit
        } catch let error as CloudError where error.code == .notAuthorized && fault == .letsAnyonePublish {
            var draft = draft
            draft.device = try await memory.zone(zone).creator
            return try await memory.prepare(draft, after: token, in: zone)
        }
    }

    func publish(_ commit: PreparedCommit) async throws -> ChangeToken {
        if fault == .losesUpdate { return commit.token }
        do {
            return try await memory.publish(commit)
        } catch let error as CloudError where error.code == .serverRecordChanged {
            if fault == .hidesLostRace { return commit.token }
            guard fault == .overwritesCommit else { throw error }
            try memory.damageCommit(commit.token.number, in: commit.zone) { $0 = commit.bytes }
            return commit.token
        }
    }

    func changes(since token: ChangeToken?, in zone: ZoneID) async throws -> ZoneChanges {
        do {
            let changes = try await memory.changes(since: token, in: zone)
            var commits = changes.commits.map(distort)
            if fault == .skipsCommit, commits.count > 1 { commits.removeFirst() }
            if fault == .repeatsCommit, let token, let last = try await memory.history(in: zone).first(where: { $0.token == token }) {
                commits.insert(last, at: 0)
            }
            return ZoneChanges(base: changes.base.map(distort), commits: commits, token: changes.token)
        } catch let error as CloudError where error.code == .rolledBack && fault == .acceptsForeignToken {
            return ZoneChanges(base: [], commits: [], token: token)
        } catch let error as CloudError {
            throw distort(error)
        }
    }

    func records(in zone: ZoneID, at number: Int?, notBefore token: ChangeToken?) async throws -> ZoneState {
        do {
            if fault == .mixesZones, zone.scope == .public {
                return try await memory.records(in: ZoneID(zone.name), at: number, notBefore: token)
            }
            let state = try await memory.records(in: zone, at: fault == .ignoresVersion ? nil : number, notBefore: token)
            var records = state.records.map(distort)
            if fault == .tearsCommit, records.count > 1 { records.removeLast() }
            return ZoneState(records: records, token: state.token, timestamp: state.timestamp)
        } catch let error as CloudError where error.code == .zoneNotFound && fault == .hidesMissingZone {
            return ZoneState(records: [], token: nil, timestamp: nil)
        } catch let error as CloudError {
            throw distort(error)
        }
    }

    func openAsset(_ asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader {
        let reader = try await memory.openAsset(asset, in: zone)
        return fault == .corruptsAsset ? FlippingReader(reader) : reader
    }

    func discard(_ assets: [CloudAsset], in zone: ZoneID) async {
        await memory.discard(assets, in: zone)
        guard fault == .discardsNamedAsset else { return }
        for asset in assets { try? memory.damageAsset(asset.path, in: zone) { $0 = nil } }
    }

    func send(_ message: CloudMessage, clock: Instant, in zone: ZoneID) async throws {
        if fault == .losesMessage { return }
        do {
            try await memory.send(message, clock: clock, in: zone)
        } catch let error as CloudError where error.code == .serverRecordChanged && fault == .replacesMessage {
            try await memory.removeMessage(CloudMessageName(sender: message.sender, id: message.id), in: zone)
            try await memory.send(message, clock: clock, in: zone)
        }
    }

    func mailbox(_ request: MailboxRequest, in zone: ZoneID) async throws -> CloudMailbox {
        var request = request
        if fault == .mixesSenders { request.sender = nil }
        return try await memory.mailbox(request, in: zone)
    }

    func removeMessage(_ message: CloudMessageName, in zone: ZoneID) async throws {
        if fault != .keepsRemovedMessage { try await memory.removeMessage(message, in: zone) }
    }

    private func distort(_ error: CloudError) -> CloudError {
        fault == .forgetsDeletionReason && error.code == .userDeletedZone ? CloudError(error.code, at: error.place, error.reason) : error
    }

    private func distort(_ commit: Commit) -> Commit {
        Commit(
            token: commit.token, parent: commit.parent, timestamp: commit.timestamp, clock: commit.clock, device: commit.device,
            saved: (fault == .tearsCommit && commit.saved.count > 1 ? Array(commit.saved.dropLast()) : commit.saved).map(distort),
            deleted: fault == .ignoresDeletion ? [] : commit.deleted, approvals: commit.approvals, zoneDeletion: commit.zoneDeletion)
    }

    private func distort(_ record: CloudRecord) -> CloudRecord {
        var fields = record.fields
        for (key, value) in fields {
            switch value {
            case .date(let instant) where fault == .roundsDates:
                fields[key] = .date(Instant(microseconds: instant.microseconds / 1000 * 1000))
            case .bytes where fault == .dropsBytes: fields[key] = .bytes(Data())
            default: continue
            }
        }
        return CloudRecord(
            type: record.type, name: record.name, fields: fields, changeTag: fault == .keepsTag ? "1" : record.changeTag ?? "",
            creation: fault == .forgetsCreator ? record.modification : record.creation, modification: record.modification)
    }
}

/// Reads with the first bit of every piece turned round.
private final class FlippingReader: AssetReader {
    private let wrapped: any AssetReader
    init(_ wrapped: any AssetReader) { self.wrapped = wrapped }
    var byteCount: Int { wrapped.byteCount }
    func index() throws -> Data? { try wrapped.index() }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
        try wrapped.read(into: buffer, at: offset)
        if !buffer.isEmpty { buffer[0] ^= 1 }
    }
}
