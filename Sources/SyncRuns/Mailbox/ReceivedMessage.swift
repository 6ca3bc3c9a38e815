package import CloudStore
import LocalStore
import SnapshotFormat
package import SnapshotModel
package import StrictText

/// The edits of a message that this device can read.
package struct ReceivedMessage: Sendable {
    package let sender: String
    /// In the order of their numbers. Ends before the first edit that this device cannot read.
    package let edits: [HandedOverEdit]
    /// Why an edit cannot be read; nil if all can.
    package let fault: Fault?

    /// Why a file in the mailbox, or an edit in it, is none for this device.
    package struct Fault: Error, Sendable {
        package let reason: String
        /// Whether the edit is of a dataset that this device does not have.
        var isOfOtherDataset = false
    }

    /// Reads a message.
    ///
    /// - Parameters:
    ///   - datasets: the device's datasets; nil if they are unknown, in which case only the message's form is checked.
    ///   - removed: the JSON names of columns that were taken out of the datasets, by dataset name. A reader that has not heard of it yet has them
    ///     all the same.
    ///   - decided: the number up to which this device has decided the sender's edits; they need not be readable any more.
    ///   - zone: the names of the zone's datasets; nil if they are not known. An edit of another dataset is one that every publisher refuses.
    /// - Throws: ``Fault`` if it is no message.
    package init(
        _ found: CloudMessage, datasets: [DatasetSchema]?, removed: [String: Set<ExactText>] = [:], decided: Int64 = 0, zone: Set<ExactText>? = nil
    ) throws {
        sender = found.sender
        guard let message = try? StrictJSON.decode(EditMessage.self, from: found.body) else {
            throw Fault(reason: "it is not a message of this format, or lacks a field")
        }
        guard message.format == EditMessage.formatVersion else { throw Fault(reason: "its format is \(message.format); update snapsync here") }
        guard message.id.exact == found.id.exact, message.device.exact == found.sender.exact else {
            throw Fault(reason: "its body says another id or device than its place in the mailbox")
        }
        guard zip(message.edits, message.edits.dropFirst()).allSatisfy({ $0.number < $1.number }), (message.edits.first?.number ?? 1) > 0 else {
            throw Fault(reason: "the numbers of its edits do not ascend")
        }
        var readable: [HandedOverEdit] = [], fault: Fault?
        for edit in message.edits {
            do {
                if edit.fullSync != true, edit.number > decided, let datasets { try Self.check(edit, datasets: datasets, removed: removed, zone: zone) }
                readable.append(edit)
            } catch let error as Fault {
                fault = error
                break
            }
        }
        (edits, self.fault) = (readable, fault)
    }

    private static func check(_ edit: HandedOverEdit, datasets: [DatasetSchema], removed: [String: Set<ExactText>], zone: Set<ExactText>?) throws {
        guard let name = edit.dataset, let schema = datasets.first(where: { $0.name.exact == name.exact }) else {
            guard let name = edit.dataset, zone?.contains(name.exact) == false else {
                throw Fault(reason: "it is about a dataset that this device does not have", isOfOtherDataset: true)
            }
            return
        }
        guard let key = edit.key, schema.keyShape.holds(key), edit.at != nil, edit.born != nil else {
            throw Fault(reason: "an edit of \(schema.name) lacks its key or its time, or the key is not one of the dataset")
        }
        let known = Set(schema.columns.map(\.name.exact)).union(removed[schema.name] ?? [])
        let unknown = "an edit of \(schema.name) has columns that this device does not know; update the dataset file or snapsync here"
        guard (edit.columns ?? []).allSatisfy({ known.contains($0.name.exact) }) else { throw Fault(reason: unknown) }
        guard let row = edit.row else { return }
        let values = RowValues()
        do {
            let fields = try EntityDocument.send(row, of: schema.withoutShapes, to: values)
            guard fields.allSatisfy({ known.contains($0.exact) }) else { throw Fault(reason: unknown) }
        } catch let error as SyncError where error.format != nil {
            throw Fault(reason: "a row is not one of \(schema.name): \(error.reason)")
        }
        guard values.values.lending({ schema.keyShape.key(of: $0) }) == key else {
            throw Fault(reason: "a row of \(schema.name) is another than the one that its edit names")
        }
    }
}

extension ReceivedMessage {
    /// The message without the edits up to a number.
    func dropping(upTo number: Int64) -> ReceivedMessage { ReceivedMessage(sender: sender, edits: edits.filter { $0.number > number }, fault: fault) }

    private init(sender: String, edits: [HandedOverEdit], fault: Fault?) { (self.sender, self.edits, self.fault) = (sender, edits, fault) }
}
