import GRDB

/// The tables of ``Outbox`` and ``Inbox``, which are created with the first message.
package struct MailboxTables: TransactionPart {
    let transaction: LocalTransaction

    /// Creates the tables of outbox and inbox if they are missing.
    package func prepare() throws {
        for table in LocalTable.mailboxTables { try table.create(in: db) }
    }

    /// Drops the tables of outbox and inbox.
    func remove() throws {
        for table in LocalTable.mailboxTables { try table.drop(in: db) }
    }

    /// Whether this database ever sent or received a message.
    package func exist() throws -> Bool { try db.hasTable("snapsync_inbox") }
}
