import CloudStore
import Foundation
import Testing

struct PresentableErrorTests {
    private func error(_ code: CloudError.Code, isRetryable: Bool = false) -> CloudError {
        CloudError(code, at: "zone", "reason of \(code)", isRetryable: isRetryable)
    }

    @Test func partialFailureIsShownAsItsCause() throws {
        let inner = try #require(
            CloudError.partial(["a": error(.batchRequestFailed), "b": error(.quotaExceeded), "c": error(.zoneBusy, isRetryable: true)], at: "zone"))
        let outer = try #require(CloudError.partial(["x": inner, "y": error(.batchRequestFailed)], at: "zone"))
        #expect(outer.cause.code == .quotaExceeded)
        #expect(!outer.isRetryable)
        #expect(outer.description.contains("reason of quotaExceeded"))
        let shown = PresentableError(outer)
        #expect(shown.code == .quotaExceeded)
        #expect(shown.title == CloudErrorTable.entry(for: .quotaExceeded).sentence)
        #expect(CloudError.partial([:], at: "zone") == nil)
    }

    @Test func anEmptyPartialFailureIsItsOwnCause() {
        #expect(error(.partialFailure).cause.code == .partialFailure)
    }

    @Test func itIsMadeFromStringsAndInterpolations() {
        let name = "notes.txt"
        let shown: PresentableError = "The file \(name) is too large."
        #expect(shown.title == "The file notes.txt is too large.")
        #expect(shown.code == nil && !shown.isRetryable)
        let literal: PresentableError = "Plain."
        #expect(literal.description == "Plain.")
    }

    @Test func itIsMadeFromAnyError() {
        struct Plain: Error, CustomStringConvertible { let description = "plain words" }
        struct Localized: LocalizedError {
            var errorDescription: String? { "localized words" }
            var recoverySuggestion: String? { "do this" }
        }
        #expect(PresentableError(Plain()).title == "plain words")
        #expect(PresentableError(Localized()).title == "localized words")
        #expect(PresentableError(Localized()).nextStep == "do this")
        #expect(PresentableError(CancellationError()).isCancellation)
        #expect(PresentableError(CancellationError()).code == .operationCancelled)
    }

    @Test func wrappingTwiceChangesNothingAndEachShowingHasAnIdentity() {
        let once = PresentableError(error(.zoneNotFound))
        #expect(PresentableError(once).id == once.id)
        #expect(PresentableError(error(.zoneNotFound)).id != once.id)
    }

    @Test func waitingTimesAreHandedOn() {
        let limited = CloudError(.requestRateLimited, at: "cloud", "too many", isRetryable: true, retryAfter: .seconds(3))
        let shown = PresentableError(limited)
        #expect(shown.retryAfter == .seconds(3) && shown.isRetryable)
    }
}
