package import StrictText

package enum InstantPart: Hashable, Sendable {
    /// The columns that have no instant of their own.
    case row
    /// The insertion of the row. It tells apart two rows that had one key.
    case born
    /// The column with this JSON name.
    case column(ExactText)
}

/// When a row was changed, as a version states it: what differs from the row's own timestamp.
package struct RowInstants: Hashable, Sendable {
    /// The instant of the columns that ``columns`` does not name; nil if it is the row's own timestamp.
    package var row: Instant?
    /// When the row was inserted; nil if that is the instant of ``row``.
    package var born: Instant?
    /// The instants of single columns, by JSON name.
    package var columns: [ExactText: Instant]

    package init(row: Instant? = nil, born: Instant? = nil, columns: [ExactText: Instant] = [:]) {
        (self.row, self.born, self.columns) = (row, born, columns)
    }

    package mutating func set(_ part: InstantPart, _ instant: Instant?) {
        switch part {
        case .row: row = instant
        case .born: born = instant
        case .column(let name): columns[name] = instant
        }
    }

    /// Calls `body` with each instant.
    package func forEach(_ body: (InstantPart, Instant) throws -> Void) rethrows {
        if let row { try body(.row, row) }
        if let born { try body(.born, born) }
        for (name, at) in columns { try body(.column(name), at) }
    }

    /// The entries of the lists of a file that state these instants: nil stands for the row's own timestamp.
    package func entries(own: Instant?) -> [(part: InstantPart, at: Instant?)] {
        var entries: [(InstantPart, Instant?)] = []
        if let row { entries.append((.row, row)) }
        if let born { entries.append((.born, born == own ? nil : born)) }
        for (name, at) in columns { entries.append((.column(name), at == own ? nil : at)) }
        return entries
    }

    /// When the row was last changed.
    ///
    /// - Parameter own: the row's own timestamp.
    package func latest(own: Instant?) -> Instant { columns.values.reduce(row ?? own ?? .distantPast, max) }

    /// When a column was last changed.
    package func instant(of column: ExactText, own: Instant?) -> Instant { columns[column] ?? row ?? own ?? .distantPast }

    /// When the row was inserted.
    package func born(own: Instant?) -> Instant { born ?? row ?? own ?? .distantPast }
}
