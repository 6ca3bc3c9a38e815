import Foundation

/// A language that the texts of ``ErrorTable`` are written in.
public enum ErrorLanguage: String, Hashable, Sendable, CaseIterable {
    case english = "en"
    case italian = "it"

    /// Returns the first of these languages that has texts, or else English.
    ///
    /// - Parameter languages: tags such as `it-IT` or `it_IT`, the preferred one first.
    public static func preferred(of languages: [String]) -> ErrorLanguage {
        languages.lazy.compactMap { tag in ErrorLanguage(rawValue: tag.prefix { $0 != "-" && $0 != "_" }.lowercased()) }.first ?? .english
    }

    /// The language of this system's user.
    public static var preferred: ErrorLanguage { preferred(of: Locale.preferredLanguages) }
}
