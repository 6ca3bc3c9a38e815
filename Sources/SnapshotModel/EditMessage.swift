package import StrictText

/// A message of a reader: all of its edits that it may hand over and no version has decided.
///
/// A later message of the same device repeats what is still undecided, so a message that is lost, doubled or late changes nothing. Source:
/// docs/cloud-directory.md, "The edits of a message".
package struct EditMessage: Codable, Hashable, Sendable {
    /// The version of the format that this program writes.
    package static let formatVersion = 1

    package let format: Int
    /// The message's id in the mailbox.
    package let id: String
    package let device: String
    /// In the order of their numbers.
    package let edits: [HandedOverEdit]

    package init(id: String, device: String, edits: [HandedOverEdit]) {
        format = Self.formatVersion
        self.id = id
        self.device = device
        self.edits = edits
    }
}

/// An edit of one row as a message carries it, or a request.
package struct HandedOverEdit: Codable, Hashable, Sendable {
    /// A column and when it was changed.
    package struct Column: Codable, Hashable, Sendable {
        package let name: String
        package let at: Instant

        package init(name: String, at: Instant) { (self.name, self.at) = (name, at) }
    }

    /// What the device had seen under the key: a row whose columns had changed at these instants, or a deletion.
    package struct Base: Codable, Hashable, Sendable {
        package let deletedAt: Instant?
        /// The instant of the columns that `columns` does not name.
        package let at: Instant?
        package let columns: [Column]?

        package init(deletedAt: Instant) { (self.deletedAt, at, columns) = (deletedAt, nil, nil) }

        package init(at: Instant, columns: [Column]) { (deletedAt, self.at, self.columns) = (nil, at, columns.isEmpty ? nil : columns) }
    }

    /// Ascending for each device. A commit says up to which number a device's edits are decided.
    package let number: Int64
    /// The dataset's name; nil for a request.
    package var dataset: String?
    package var key: EntityKey?
    /// When the row was changed last, or deleted.
    package var at: Instant?
    /// When the row was inserted.
    package var born: Instant?
    /// The columns that were changed; nil for all.
    package var columns: [Column]?
    /// The row after the edit, as JSON without shapes; nil for a deletion.
    package var row: String?
    /// Nil if the device had seen nothing under the key.
    package var base: Base?
    /// Whether `row` lacks the columns that readers may not edit.
    package var part: Bool?

    /// Whether the device's own table does not show the row.
    package var held: Bool?
    /// Whether a reference of the row, or to the deleted row, leads nowhere in the device's own tables.
    package var loose: Bool?
    /// Whether the publisher is asked to write every dataset whole.
    package var fullSync: Bool?

    package init(number: Int64, dataset: String, key: EntityKey) { (self.number, self.dataset, self.key) = (number, dataset, key) }

    /// Asks the publisher to write every dataset whole.
    package init(requestingFullSyncAs number: Int64) {
        self.number = number
        fullSync = true
    }

    /// Whether the other one is this edit, whatever columns their rows lack.
    package func isSame(as other: HandedOverEdit) -> Bool {
        var (one, two) = (self, other)
        (one.row, one.part, two.row, two.part) = (nil, nil, nil, nil)
        return one == two
    }

    private enum CodingKeys: String, CodingKey {
        case number, dataset, at, born, columns, row, base, part, held, loose, fullSync
        case key = "id"
    }
}
