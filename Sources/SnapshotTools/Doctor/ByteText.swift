/// Sizes for people.
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
