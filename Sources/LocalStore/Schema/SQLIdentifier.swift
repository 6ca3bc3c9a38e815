extension String {
    /// The name as a quoted SQL identifier: `a"b` becomes `"a""b"`.
    ///
    /// GRDB's `quotedDatabaseIdentifier` does not escape quotes inside a name, and names come from dataset files.
    var sqlIdentifier: String { "\"" + replacing("\"", with: "\"\"") + "\"" }
}
