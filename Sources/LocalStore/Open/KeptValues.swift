import StrictText

/// The toolkit's tables of keys and values.
enum KeptValues: String {
    case settings = "snapsync_settings"
    case state = "snapsync_state"
}

extension LocalTransaction {
    /// The text that a table keeps under a key; nil where it keeps none.
    ///
    /// Every run asks a dozen times, in a few milliseconds: the statement is the connection's, prepared once.
    ///
    /// - Throws: ``LocalStoreError`` with `.damaged` where something else than text stands there.
    func value(of key: String, in table: KeptValues) throws -> String? {
        let statement = try KeyedStatement(db, "SELECT value FROM \(table.rawValue) WHERE key = ?").bind(.text(key))
        guard try statement.step() else { return nil }
        defer { statement.end() }
        guard let text = statement.text(0), UTF8Check.firstFault(in: text) == nil else {
            throw damaged(table.rawValue, table == .settings ? "the setting '\(key)' is not text" : "the value of '\(key)' cannot be read")
        }
        return String(decoding: text, as: UTF8.self)
    }
}
