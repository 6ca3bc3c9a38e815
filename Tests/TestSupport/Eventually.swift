import Foundation

/// Waits until something is true, looking again and again; how long that takes is nobody's business but a stuck test's.
///
///     try await Eventually.holds("the row has come") { try reader.run("SELECT count(*) FROM buckets") == "9\n" }
package enum Eventually {
    /// Waits for `condition`. What it throws counts as "not yet".
    ///
    /// - Throws: ``ToolFailure`` after two minutes, with what was waited for and what `explain` says then.
    package static func holds(
        _ fact: String, explain: () throws -> String = { "" }, _ condition: () throws -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        var last: (any Error)?
        while ContinuousClock.now < deadline {
            do {
                if try condition() { return }
                last = nil
            } catch {
                last = error
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw ToolFailure("it did not come true that \(fact): \(last.map { "\($0)" } ?? "") \((try? explain()) ?? "")")
    }
}
