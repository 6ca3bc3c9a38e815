public import CloudStore
import CommitLog
import Platform
public import StrictText

/// A zone's mailbox: `messages/<sender>/<32 hex>.json`.
struct MessageFolder {
    let zone: ZoneFolder

    /// Stores a message if its name is free.
    func add(_ message: CloudMessage, clock: Instant) throws {
        let bytes = try MessageDocument.encode(message, of: zone.history, by: zone.history.isSigned ? zone.authority.signer() : nil)
        let folder = try zone.files.folder(message.sender, in: try zone.subfolder(CloudNames.messages))
        let name = "\(message.id).json"
        let placement = try zone.files.put(bytes, as: name, in: folder) { sealed throws(CloudError) in
            try CommitClock.verify(clock, against: sealed.modified)
        }
        guard placement != .taken else { throw CloudMailbox.takenID(at: folder.place(name)) }
    }

    /// Reads the waiting messages. Folders whose names are not valid device names are ignored.
    func read(_ request: MailboxRequest) throws -> CloudMailbox {
        var mailbox = CloudMailbox()
        let senders: CloudFolder?
        var stamps: [String: FolderStamp] = [:]
        do throws(CloudError) {
            senders = try zone.folder.folder(CloudNames.messages)
            // Take the stamp before the listing, so that a later change changes the stamp.
            stamps[""] = try senders?.stamp()
        } catch {
            guard error.code == .damaged else { throw error }
            mailbox.setAside.append(SetAsideMessage(place: zone.folder.place(CloudNames.messages), reason: error.reason))
            return mailbox
        }
        var signers: MessageSigners?
        try senders?.eachFolder { sender, folder in
            guard request.sender == nil || sender == request.sender else { return }
            stamps[sender] = try folder.stamp()
            // Without a stamp for each folder there is no mark.
            if stamps[sender] == nil { stamps[""] = nil }
            let names = try folder.names()
            if signers == nil, !names.isEmpty { signers = try MessageSigners(zone, request) }
            mailbox.take(names, of: sender, request, in: zone.history, by: signers, at: folder.path, isArriving: { isArriving($0, in: folder) }) {
                name throws(CloudError) in
                try folder.bytes(of: name, limit: CloudMessage.byteLimit)
            }
        }
        // There is no mark if something was not read, or may be repaired in place: the next run must read it again.
        let isAllRead = request.sender == nil && mailbox.unreadCount == 0 && mailbox.setAside.isEmpty
        if isAllRead, stamps[""] != nil { mailbox.mark = MailboxMark(folders: stamps) }
        return mailbox
    }

    /// Whether a sync tool is still writing a message that looks damaged.
    private func isArriving(_ name: String, in folder: CloudFolder) -> Bool {
        guard let bytes = try? folder.bytes(of: name, limit: CloudMessage.byteLimit), ArrivingFile.isBeginning(bytes),
            let status = try? folder.file(name)?.status
        else { return false }
        return ArrivingFile.error(name, status, wanted: nil, in: folder) != nil
    }

    /// Whether the folders have not changed since the mark was taken.
    func isUnchanged(since mark: MailboxMark) throws(CloudError) -> Bool {
        guard !mark.folders.isEmpty else { return false }
        for (sender, stamp) in mark.folders {
            guard sender.isEmpty || CloudNames.isName(sender),
                let folder = try zone.folder.folder(sender.isEmpty ? CloudNames.messages : "\(CloudNames.messages)/\(sender)"), try folder.stamp() == stamp
            else { return false }
        }
        return true
    }

    /// Removes a message. Does nothing if it does not exist.
    func remove(_ message: CloudMessageName) throws {
        try CloudNames.verify(message.sender, isNameOf: "device")
        guard CloudNames.isMessageID(message.id), let folder = try zone.folder.folder("\(CloudNames.messages)/\(message.sender)") else { return }
        try folder.remove("\(message.id).json")
    }
}

extension DirectoryCloud {
    public func send(_ message: CloudMessage, clock: Instant, in zone: ZoneID) async throws {
        try await inZone(zone) { try MessageFolder(zone: $0).add(message, clock: clock) }
    }

    public func mailbox(_ request: MailboxRequest, in zone: ZoneID) async throws -> CloudMailbox {
        try await inZone(zone) { try MessageFolder(zone: $0).read(request) }
    }

    public func isMailboxUnchanged(since mark: MailboxMark, in zone: ZoneID) async throws -> Bool {
        try await inZone(zone) { try MessageFolder(zone: $0).isUnchanged(since: mark) }
    }

    public func removeMessage(_ message: CloudMessageName, in zone: ZoneID) async throws {
        try await inZone(zone) { try MessageFolder(zone: $0).remove(message) }
    }
}
