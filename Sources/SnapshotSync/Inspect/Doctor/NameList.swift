/// Names in a sentence: the first of them, and how many there are.
enum NameList {
    /// `2 conflict copies: a, b`; of more than five names the first five and `…`.
    static func words(_ names: [String], _ one: String, _ many: String) -> String {
        "\(names.count) \(names.count == 1 ? one : many): " + names.prefix(5).joined(separator: ", ") + (names.count > 5 ? ", …" : "")
    }
}

/// Sizes as people say them.
enum ByteText {
    /// `812 B`, `14 kB`, `204 MB`: whole units, powers of 1000.
    static func words(_ byteCount: Int) -> String {
        var size = byteCount, units = ["B", "kB", "MB", "GB", "TB"][...]
        while size >= 10_000, units.count > 1 {
            size /= 1000
            units.removeFirst()
        }
        return "\(size) \(units.first ?? "B")"
    }
}
