/// The load state of a list, for a screen that shows it.
public enum LoadState: String, Sendable, Encodable, CaseIterable {
    /// Not loaded yet, or loading failed and there is nothing to show.
    case inactive
    /// Being loaded, for the first time or again.
    case loading
    /// Loaded, with content.
    case success
    /// Loaded, without content.
    case noResults
}
