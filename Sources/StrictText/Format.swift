/// How numbers look to people.
package enum Format {
    /// `1,234,567`.
    package static func count(_ value: Int) -> String {
        var digits = String(value.magnitude)
        var groups: [Substring] = []
        while digits.count > 3 {
            groups.insert(digits.suffix(3), at: 0)
            digits.removeLast(3)
        }
        groups.insert(Substring(digits), at: 0)
        return (value < 0 ? "-" : "") + groups.joined(separator: ",")
    }

    /// `1 bucket`, `1,234 buckets`.
    package static func count(_ value: Int, _ one: String) -> String { "\(count(value)) \(one)\(value == 1 ? "" : "s")" }

    /// `812 B`, `14.2 kB`, `204.1 MB`: powers of 1000.
    package static func bytes(_ value: Int) -> String {
        var size = Double(value)
        var unit = 0
        let units = ["B", "kB", "MB", "GB", "TB"]
        while size >= 1000, unit < units.count - 1 {
            size /= 1000
            unit += 1
        }
        return unit == 0 ? "\(value) B" : "\((size * 10).rounded() / 10) \(units[unit])"
    }
}
