import Observation
import Synchronization
import TestSupport

/// Collects what a user interface would have drawn: a value of a model, each time that Observation says it changes.
@MainActor final class Seen<Value: Sendable & Equatable> {
    private(set) var values: [Value] = []
    private let read: @MainActor () -> Value

    init(_ read: @escaping @MainActor () -> Value) {
        self.read = read
        look()
    }

    /// Reads the value as a view does, and reads it again after each change.
    private func look() {
        let value = withObservationTracking {
            read()
        } onChange: { [weak self] in
            Task { @MainActor in self?.look() }
        }
        if values.last != value { values.append(value) }
    }
}

extension Eventually {
    /// Waits on the main actor until something is true.
    @MainActor static func isSeen(_ fact: String, _ condition: @MainActor () -> Bool) async throws {
        var looks = 0
        let deadline = ContinuousClock.now + .seconds(300)
        while looks < 1000 || ContinuousClock.now < deadline {
            if condition() { return }
            looks += 1
            try await Task.sleep(for: .milliseconds(20))
        }
        throw ToolFailure("it did not come true that \(fact)")
    }
}
