/// Formats spans of time for people.
package enum AgeText {
    /// Returns the two largest units, rounded down to whole ones: `45 s`, `12 min`, `2 h 5 min`, `3 d 4 h`.
    package static func words(seconds: Int) -> String {
        let seconds = max(0, seconds)
        let parts = [(seconds / 86400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")]
        guard let first = parts.firstIndex(where: { $0.0 > 0 }) else { return "0 s" }
        // Minutes are shown without seconds.
        let shown = parts[first..<min(first + 2, max(first + 1, 3))].filter { $0.0 > 0 }
        return shown.map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }
}
