import CloudStore
import StrictText

// The publish queue: `waiting/<20-digit number>-<8 hex>.json`, as in a directory cloud.
extension ObjectZone {
    /// How long a ticket counts, in microseconds: as long as one run waits. Tickets must expire, because a device may not be allowed to
    /// delete its own.
    private static let ticketAge: Int64 = 60_000_000

    /// The tickets, in the order in which their devices publish.
    func tickets() throws -> [PublishTicket] {
        let folder = path("\(CloudNames.waiting)/")
        let listed = try store.list(folder)
        guard !listed.isEmpty else { return [] }
        let now = try store.clock
        return listed.compactMap { object -> PublishTicket? in
            guard let ticket = PublishTicket(fileName: String(object.path.dropFirst(folder.utf8.count))) else { return nil }
            guard now.microseconds - object.modified.microseconds < Self.ticketAge else {
                try? remove(ticket)
                return nil
            }
            return ticket
        }.sorted()
    }

    /// Stores a ticket. Does nothing if it is already there.
    func add(_ ticket: PublishTicket) throws { _ = try store.put(Array("{}".utf8), as: path("\(CloudNames.waiting)/\(ticket.fileName)")) }

    /// Removes a ticket. Does nothing if it is not there.
    func remove(_ ticket: PublishTicket) throws { try store.remove(path("\(CloudNames.waiting)/\(ticket.fileName)")) }
}
