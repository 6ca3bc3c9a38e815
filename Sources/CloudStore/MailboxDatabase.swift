public import StrictText

/// What devices exchange besides commits: messages to the publisher, reports of each device's version, the queue of publishers.
///
/// - Throws: each function throws a ``CloudError``, `zoneNotFound` if the cloud has no such zone.
public protocol MailboxDatabase: Sendable {
    /// Stores a message in its sender's part of the mailbox; it is durable on return. Sending the same message again changes nothing.
    ///
    /// Throws `serverRecordChanged` if another message has its id, `limitExceeded` if it is too large, `clockUnusable` if `clock`,
    /// the sender's, differs by more than a day from the cloud's clock.
    func send(_ message: CloudMessage, clock: Instant, in zone: ZoneID) async throws
    /// The waiting messages. A message that cannot be read is listed as set aside, and the others are returned normally.
    func mailbox(_ request: MailboxRequest, in zone: ZoneID) async throws -> CloudMailbox
    /// Whether the mailbox has not changed since the mark was taken, determined without a listing; false if that is unknown. The default
    /// returns false, for backends without marks.
    func isMailboxUnchanged(since mark: MailboxMark, in zone: ZoneID) async throws -> Bool
    /// Removes a message. Its sender calls this after the message was answered. Does nothing if the message is gone.
    func removeMessage(_ message: CloudMessageName, in zone: ZoneID) async throws

    /// Stores a report of what a device last applied, unless the device's last report says the same and is less than a day old.
    func report(_ report: DeviceReport, in zone: ZoneID) async throws
    /// The newest report of each device, sorted by device name.
    func deviceReports(in zone: ZoneID) async throws -> [DeviceReport]
    /// The newest report of the device of this name; nil if there is none.
    func deviceReport(of device: String, in zone: ZoneID) async throws -> DeviceReport?
    /// Removes every report of a device, so that it is no longer listed. Does nothing if there is none.
    func forgetDevice(_ device: String, in zone: ZoneID) async throws

    /// The tickets in the zone's publish queue, in order. The defaults of this and the next two calls are for backends without a queue.
    func publishQueue(in zone: ZoneID) async throws -> [PublishTicket]
    /// Adds a ticket to the publish queue. Does nothing if it is already there.
    func enqueue(_ ticket: PublishTicket, in zone: ZoneID) async throws
    /// Removes a ticket from the publish queue. Does nothing if it is not there.
    func dequeue(_ ticket: PublishTicket, in zone: ZoneID) async throws
}

extension MailboxDatabase {
    public func isMailboxUnchanged(since mark: MailboxMark, in zone: ZoneID) async throws -> Bool { false }

    public func deviceReport(of device: String, in zone: ZoneID) async throws -> DeviceReport? {
        try await deviceReports(in: zone).first { $0.device == device }
    }

    public func forgetDevice(_ device: String, in zone: ZoneID) async throws {
        throw CloudError(.invalidArguments, at: "\(zone)", "this cloud cannot forget a device")
    }

    public func publishQueue(in zone: ZoneID) async throws -> [PublishTicket] { [] }
    public func enqueue(_ ticket: PublishTicket, in zone: ZoneID) async throws {}
    public func dequeue(_ ticket: PublishTicket, in zone: ZoneID) async throws {}
}
