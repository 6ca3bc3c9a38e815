import StrictText

/// Lists of names for a sentence, limited to the first few.
enum NameList {
    /// `2 conflict copies: a, b`; of more than five names the first five and `…`.
    static func words(_ names: [String], _ one: String, _ many: String) -> String {
        "\(Format.count(names.count, one, many)): " + names.prefix(5).joined(separator: ", ") + (names.count > 5 ? ", …" : "")
    }
}
