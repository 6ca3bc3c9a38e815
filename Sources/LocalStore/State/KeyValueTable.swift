import StrictText

/// A table of keys and texts: `snapsync_settings` or `snapsync_state`.
struct KeyValueTable: TransactionPart {
    let transaction: LocalTransaction
    let name: String

    /// The text stored under a key; nil if there is none.
    ///
    /// Every run reads a dozen keys within a few milliseconds, so the connection caches the statement.
    ///
    /// - Throws: ``LocalStoreError`` with `.damaged` if the value is not UTF-8 text.
    func text(of key: String) throws -> String? {
        let statement = try KeyedStatement(db, "SELECT value FROM \(name) WHERE key = ?").bind(.text(key))
        guard try statement.step() else { return nil }
        defer { statement.end() }
        guard let text = statement.text(0), UTF8Check.firstFault(in: text) == nil else {
            throw damaged(name, name == SettingsTable.name ? "the setting '\(key)' is not text" : "the value of '\(key)' cannot be read")
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Stores a text under a key; nil deletes the key.
    func setText(_ text: String?, of key: String) throws {
        guard let text else { return try KeyedStatement(db, "DELETE FROM \(name) WHERE key = ?").bind(.text(key)).run() }
        try KeyedStatement(db, "INSERT OR REPLACE INTO \(name) VALUES(?, ?)").bind(.text(key), .text(text)).run()
    }
}
