import CloudStore
import Foundation
import StrictText
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
        #expect(shown.title == "No room left" && shown.identifier == "cloud.quotaExceeded")
        #expect(shown.message == "There is no room left for the shared data." && shown.nextStep == "Make room. Your changes are kept until then.")
        #expect(shown.details == "zone: reason of quotaExceeded")
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

    @Test func textsAreInTheLanguageAskedFor() {
        let shown = PresentableError(error(.zoneBusy), in: .italian)
        #expect(shown.title == "Occupato" && shown.message == "Altri dispositivi stanno salvando in questo momento." && shown.nextStep == "Riprova tra poco.")
        let english = PresentableError(error(.zoneBusy), in: .english)
        #expect(english.title == "Busy" && english.details == shown.details && english.isRetryable)
        #expect(english.description == "Other devices are saving at the moment. Try again in a moment.")
        // Words of the caller's own stay.
        #expect(PresentableError(PresentableError("Plain."), in: .italian).title == "Plain.")
    }

    /// What a person can do nothing about but wait has the button, whatever the error itself says of trying again.
    @Test(arguments: [
        (CloudError.Code.cloudUnavailable, true), (.requestRateLimited, true), (.zoneBusy, true), (.pending, true), (.serverResponseLost, true),
        (.accountTemporarilyUnavailable, true), (.inputOutput, true), (.quotaExceeded, false), (.notAuthenticated, false), (.permissionFailure, false),
        (.damaged, false), (.userDeletedZone, false), (.operationCancelled, false), (CloudError.Code(name: "of a later version"), false),
    ])
    func onlyWhatPassesByItselfIsTriedAgain(code: CloudError.Code, isRetryable: Bool) {
        #expect(PresentableError(error(code)).isRetryable == isRetryable)
        #expect(PresentableError(error(code, isRetryable: true)).isRetryable)
    }

    @Test func wrongTextsAreExplained() throws {
        let time = try #require(throws: InstantError.self) { try Instant(parsing: "tomorrow") }
        #expect(PresentableError(time).identifier == "data.badInstant")
        let fault = try #require(throws: JSONFault.self) { try StrictJSON.decode(Bool.self, from: Data("tru".utf8)) }
        #expect(PresentableError(fault, in: .italian).title == "Non leggibile")
        #expect(PresentableError(fault).details == fault.description)
    }
}
