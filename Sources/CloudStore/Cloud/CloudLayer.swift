import StrictText

/// Watches and changes what a cloud does: limits, encryption, faults in tests.
///
///     struct Slow: CloudLayer {
///         func willCall(_ call: CloudCall, in zone: ZoneID?) async throws { try await Task.sleep(for: .seconds(1)) }
///     }
///     let slow = cloud.adding(Slow())
///
/// The defaults change nothing. What is stored passes the layers from the last added to the first; what is read passes them the other way.
package protocol CloudLayer: Sendable {
    /// Called before a call. Throws to refuse it.
    ///
    /// - Parameter zone: the zone that the call concerns; nil for a call that concerns the whole cloud.
    func willCall(_ call: CloudCall, in zone: ZoneID?) async throws
    /// Called after a call that has succeeded.
    func didCall(_ call: CloudCall, in zone: ZoneID?) async throws

    /// Returns a draft as it is to be committed after `token`.
    func stored(_ draft: CommitDraft, after token: ChangeToken?, in zone: ZoneID) async throws -> CommitDraft
    /// Called when a commit was prepared from a draft, as it is stored.
    func didPrepare(_ commit: PreparedCommit, from draft: CommitDraft) throws
    /// Returns records as the caller is to see them, in the same number and order.
    func opened(_ records: [CloudRecord], by call: CloudCall, in zone: ZoneID) async throws -> [CloudRecord]
    /// Returns a message as it is to be stored.
    func stored(_ message: CloudMessage, in zone: ZoneID) async throws -> CloudMessage
    /// Returns a mailbox as the caller is to see it.
    func opened(_ mailbox: CloudMailbox, in zone: ZoneID) async throws -> CloudMailbox
    /// Returns the writer through which the caller writes an asset of a record, after ``CloudCall/newAsset(record:)`` was announced.
    func writer(_ writer: any AssetWriter, for record: String, in zone: ZoneID) throws -> any AssetWriter
    /// Returns the reader through which the caller reads an asset.
    func reader(_ reader: any AssetReader, of asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader

    /// Reports a zone's events in place of the store; nil leaves them to the store.
    func events(in zone: ZoneID, _ handler: @escaping @Sendable (ZoneHint) -> Void) -> (any ZoneEventSource)?
}

extension CloudLayer {
    package func willCall(_ call: CloudCall, in zone: ZoneID?) async throws {}
    package func didCall(_ call: CloudCall, in zone: ZoneID?) async throws {}
    package func stored(_ draft: CommitDraft, after token: ChangeToken?, in zone: ZoneID) async throws -> CommitDraft { draft }
    package func didPrepare(_ commit: PreparedCommit, from draft: CommitDraft) throws {}
    package func opened(_ records: [CloudRecord], by call: CloudCall, in zone: ZoneID) async throws -> [CloudRecord] { records }
    package func stored(_ message: CloudMessage, in zone: ZoneID) async throws -> CloudMessage { message }
    package func opened(_ mailbox: CloudMailbox, in zone: ZoneID) async throws -> CloudMailbox { mailbox }
    package func writer(_ writer: any AssetWriter, for record: String, in zone: ZoneID) throws -> any AssetWriter { writer }
    package func reader(_ reader: any AssetReader, of asset: CloudAsset, in zone: ZoneID) async throws -> any AssetReader { reader }
    package func events(in zone: ZoneID, _ handler: @escaping @Sendable (ZoneHint) -> Void) -> (any ZoneEventSource)? { nil }
}

/// A call of a ``CloudDatabase``, as its layers see it.
package enum CloudCall: Sendable {
    case identity, zones, createZone, zone
    /// Changes since a token; the whole zone's records; commits.
    case changes, records, history
    case prepare(CommitDraft), publish(PreparedCommit)
    case newAsset(record: String), openAsset(CloudAsset), discard([CloudAsset])
    case report(DeviceReport), deviceReports, forgetDevice(String)
    case send(CloudMessage), mailbox, removeMessage(CloudMessageName)
    case placeCheckpoint(Int), storedFiles, storeClock, remove([StoredFile])

    /// Whether the call writes to the cloud.
    package var writes: Bool {
        switch self {
        case .identity, .zones, .zone, .changes, .records, .history, .openAsset, .deviceReports, .mailbox, .storedFiles: false
        default: true
        }
    }

    /// The step of a sync that the call is.
    var step: SyncStep {
        switch self {
        case .identity, .zones, .createZone, .zone: .open
        case .changes, .records, .history, .openAsset, .deviceReports, .mailbox, .storedFiles: .fetch
        case .newAsset, .discard, .placeCheckpoint, .storeClock, .remove: .store
        case .prepare, .publish, .report, .forgetDevice, .send, .removeMessage: .announce
        }
    }
}
