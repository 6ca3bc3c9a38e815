public import CloudStore
import CommitLog
import Platform

/// A zone's publish queue: `waiting/<20-digit number>-<8 hex>.json`, each a ``PublishTicket``.
///
/// Only the names matter. The files contain `{}`, so that they are not mistaken for truncated files.
struct PublishQueueFolder {
    let zone: ZoneFolder

    /// The tickets, in the order in which their devices publish.
    func tickets() throws -> [PublishTicket] {
        guard let folder = try zone.folder.folder(CloudNames.waiting) else { return [] }
        return try folder.names().compactMap(PublishTicket.init(fileName:)).sorted()
    }

    /// Adds a ticket. Does nothing if it is already there. The name need not be durable, so the directory is not synchronized.
    func add(_ ticket: PublishTicket) throws {
        let folder = try zone.subfolder(CloudNames.waiting)
        _ = try zone.files.put(Array("{}".utf8), as: ticket.fileName, in: folder, isLasting: false)
    }

    /// Removes a ticket. Does nothing if it does not exist.
    func remove(_ ticket: PublishTicket) throws {
        try zone.folder.folder(CloudNames.waiting)?.remove(ticket.fileName)
    }
}

extension DirectoryCloud {
    public func publishQueue(in zone: ZoneID) async throws -> [PublishTicket] {
        try await inZone(zone) { try PublishQueueFolder(zone: $0).tickets() }
    }

    public func enqueue(_ ticket: PublishTicket, in zone: ZoneID) async throws {
        try await inZone(zone) { try PublishQueueFolder(zone: $0).add(ticket) }
    }

    public func dequeue(_ ticket: PublishTicket, in zone: ZoneID) async throws {
        try await inZone(zone) { try PublishQueueFolder(zone: $0).remove(ticket) }
    }
}
