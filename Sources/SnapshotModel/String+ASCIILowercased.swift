extension String {
    /// The name in the case that SQLite uses to compare names of tables and columns: only the letters A to Z have a case.
    ///
    /// `lowercased()` folds all of Unicode, so it would treat the two columns `É` and `é` as one.
    package var asciiLowercased: String {
        String(decoding: utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
