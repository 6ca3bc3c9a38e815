/// How far a list has come, for a screen that shows it.
public enum LoadState: String, Sendable, Encodable, CaseIterable {
    /// Nobody has asked yet, or asking failed and there is nothing to show.
    case inactive
    /// It is on its way for the first time, or anew.
    case loading
    /// There is something to show.
    case success
    /// There is nothing.
    case noResults
}
