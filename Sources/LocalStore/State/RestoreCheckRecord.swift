package import StrictText

/// A trial restore: of which version, and how many problems it found.
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
