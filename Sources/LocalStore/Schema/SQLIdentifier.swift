extension String {
    /// The name as SQL quotes it, whatever it holds: `a"b` becomes `"a""b"`.
    ///
    /// GRDB's `quotedDatabaseIdentifier` leaves quotes inside a name as they are, and names come from dataset files.
    var sqlIdentifier: String { "\"" + replacing("\"", with: "\"\"") + "\"" }
}
