/// Formats numbers for people.
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

    /// `1 bucket`, `1,234 buckets`; with `many`: `1 entity was`, `0 entities were`.
    ///
    /// - Parameters:
    ///   - one: the words after the number 1.
    ///   - many: the words after any other number; by default `one` with an s.
    package static func count(_ value: Int, _ one: String, or many: String? = nil) -> String { "\(count(value)) \(word(value, one, or: many))" }

    /// Words that agree with a number elsewhere in the sentence: `it` for 1, `them` for any other number.
    package static func word(_ value: Int, _ one: String, or many: String? = nil) -> String { value == 1 ? one : many ?? one + "s" }

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
