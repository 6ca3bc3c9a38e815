public import CloudStore
public import StrictText

extension MemoryCloudDatabase {
    public func send(_ message: CloudMessage, clock: Instant, in zone: ZoneID) async throws {
        let store = try store(zone)
        try store.authority.verifySealing(in: store.history)
        let bytes = try MessageDocument.encode(message, of: store.history, by: store.history.isSigned ? store.authority.signer() : nil)
        try CommitClock.verify(clock, against: store.now())
        let isThere = store.zone.change { files in
            let found = files.messages[message.sender]?["\(message.id).json"]
            if found == nil { files.messages[message.sender, default: [:]]["\(message.id).json"] = bytes }
            return found == nil || found == bytes
        }
        guard isThere else { throw CloudMailbox.takenID(at: "\(zone)/\(CloudNames.messages)/\(message.sender)/\(message.id).json") }
    }

    public func mailbox(_ request: MailboxRequest, in zone: ZoneID) async throws -> CloudMailbox {
        let store = try store(zone)
        let signers = try MessageSigners(store, request)
        var mailbox = CloudMailbox()
        let all = store.zone.files.messages.filter { request.sender == nil || $0.key == request.sender }
        for (sender, files) in all.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            mailbox.take(Array(files.keys), of: sender, request, in: store.history, by: signers, at: "\(zone)/\(CloudNames.messages)/\(sender)") { files[$0] }
        }
        return mailbox
    }

    public func removeMessage(_ message: CloudMessageName, in zone: ZoneID) async throws {
        try store(zone).zone.change { $0.messages[message.sender]?["\(message.id).json"] = nil }
    }
}
