package import CloudStore
import LocalStore
import SnapshotFormat
package import SnapshotModel
package import StrictText

/// A message that was found to be one: of a known type, complete, and about a dataset that this device has.
package struct IncomingMessage: Sendable {
    let name: CloudMessageName
    package let message: SyncUpdateMessage
    let instant: Instant
    /// The entity that it is about; nil for `fullSync`.
    let subject: Subject?

    struct Subject: Sendable {
        let schema: DatasetSchema
        let kind: MessageKind
        let key: EntityKey
    }

    /// Why something in the mailbox is no message for this device.
    package struct Fault: Error {
        package let reason: String
    }

    /// The entity as one text: dataset and key.
    var entity: String? { subject.flatMap { subject in subject.key.text.map { "\(subject.schema.name)/\($0)" } } }

    /// How far ahead of this device's clock a message may be, in microseconds: a day.
    private static let clockTolerance: Int64 = 86_400_000_000

    /// Reads a message.
    ///
    /// - Parameter datasets: those that the device has; nil where they are not known, and only the message's form is looked at.
    /// - Throws: ``Fault``.
    package init(_ found: CloudMessage, datasets: [DatasetSchema]?, now: Instant) throws {
        name = CloudMessageName(sender: found.sender, id: found.id)
        guard let message = try? StrictJSON.decode(SyncUpdateMessage.self, from: found.body) else {
            throw Fault(reason: "it is of a type that this version does not know, or lacks a field")
        }
        guard message.id == found.id, message.sender == found.sender else { throw Fault(reason: "its body says another id or sender than its envelope") }
        guard let instant = try? Instant(parsing: message.timestamp) else { throw Fault(reason: "its timestamp is not an RFC 3339 date and time") }
        guard instant.microseconds <= now.microseconds + Self.clockTolerance else {
            throw Fault(reason: "its timestamp is more than a day ahead of this device's clock")
        }
        self.message = message
        self.instant = instant
        guard let dataset = MessageKind.dataset(of: message.type), let datasets else {
            subject = nil
            return
        }
        guard message.dataset == nil || message.dataset == dataset else { throw Fault(reason: "its type is not one of the dataset that it names") }
        guard let schema = datasets.first(where: { $0.name == dataset }), let kind = MessageKind(schema) else {
            throw Fault(reason: "this device has no dataset \(dataset) that messages can be about")
        }
        guard let entityId = message.entityId, !entityId.isEmpty, entityId.utf8.count <= FormatLimits.keyBytes else {
            throw Fault(reason: "it names no entity")
        }
        if message.type == .bucketCreated || message.type == .bucketUpdated {
            try Self.check(message.entity, entityId, schema)
        }
        subject = Subject(schema: schema, kind: kind, key: EntityKey(entityId))
    }

    private static func check(_ entity: String?, _ entityId: String, _ schema: DatasetSchema) throws {
        guard let entity else { throw Fault(reason: "it lacks the bucket") }
        let copies = EntityCopies(schema: schema)
        do {
            let unknown = try EntityDocument.give(entity, of: schema, to: copies)
            guard unknown.isEmpty else { throw Fault(reason: "its bucket has fields that this device does not know; update the dataset file or snapsync here") }
        } catch let error as FormatError {
            throw Fault(reason: "its bucket is not one of the dataset: \(error.reason)")
        }
        guard copies.copies[EntityKey(entityId)] != nil else { throw Fault(reason: "its bucket is another than the one that it names") }
    }
}
