import Platform
import Testing

@Suite struct BlockingCallsTests {
    /// A file that a thread still held would be open after the call that closes it.
    @Test func noThreadHoldsOnToACallThatHasReturned() async throws {
        final class Held: Sendable {}
        for _ in 0..<2000 {
            weak var captured: Held?
            weak var returned: Held?
            do {
                let held = Held()
                captured = held
                returned = try await BlockingCalls.run { withExtendedLifetime(held) { Held() } }
            }
            guard captured == nil, returned == nil else {
                Issue.record("a thread still holds what its call held")
                return
            }
        }
    }
}
