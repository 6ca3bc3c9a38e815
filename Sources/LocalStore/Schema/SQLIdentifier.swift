extension String {
    /// The name as a quoted SQL identifier: `a"b` becomes `"a""b"`.
    ///
    /// GRDB's `quotedDatabaseIdentifier` does not escape quotes inside a name, and names come from dataset files.
    var sqlIdentifier: String { "\"" + (utf8.contains(UInt8(ascii: "\"")) ? replacing("\"", with: "\"\"") : self) + "\"" }
}
