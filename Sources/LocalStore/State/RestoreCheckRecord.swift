package import StrictText

/// A trial restore that was done: of which version, and whether it found anything wrong.
package struct RestoreCheckRecord: Hashable, Sendable, Codable {
    package let at: Instant
    package let version: Int
    package let problemCount: Int

    package init(at: Instant, version: Int, problemCount: Int) {
        self.at = at
        self.version = version
        self.problemCount = problemCount
    }
}
