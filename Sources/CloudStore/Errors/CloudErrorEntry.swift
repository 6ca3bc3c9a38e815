/// One row of ``CloudErrorTable``: what a code means, for programs and for people.
public struct CloudErrorEntry: Hashable, Sendable {
    /// Whether the same request may succeed later, and after what.
    public enum Retry: String, Hashable, Sendable, CaseIterable {
        /// Repeating it changes nothing.
        case never
        /// The same request may succeed; wait a while first.
        case later
        /// It succeeds once what is new has been fetched and the request was built anew.
        case afterFetching = "after fetching"
        /// It succeeds once somebody has done the next step.
        case afterAction = "after the next step"
    }

    /// The code in this library.
    public let code: CloudError.Code
    /// The number of the `CKError.Code` that means the same.
    public let number: Int
    /// The name of that `CKError.Code`.
    public let name: String
    /// What happened, for developers.
    public let meaning: String
    /// Whether trying again helps.
    public let retry: Retry
    /// What to tell people: one sentence without technical words.
    public let sentence: String
    /// What to do next.
    public let nextStep: String
    /// Whether this library raises it; other rows are there because code for CloudKit handles them.
    public let isRaisedHere: Bool

    /// A row whose code has CKError's name.
    init(
        _ number: Int, _ name: String, _ meaning: String, _ retry: Retry, say sentence: String, next nextStep: String, raised: Bool = true
    ) {
        self.init(number, name, CloudError.Code(name: name), meaning, retry, say: sentence, next: nextStep, raised: raised)
    }

    init(
        _ number: Int, _ name: String, _ code: CloudError.Code, _ meaning: String, _ retry: Retry, say sentence: String,
        next nextStep: String, raised: Bool = true
    ) {
        self.code = code
        self.number = number
        self.name = name
        self.meaning = meaning
        self.retry = retry
        self.sentence = sentence
        self.nextStep = nextStep
        isRaisedHere = raised
    }
}
