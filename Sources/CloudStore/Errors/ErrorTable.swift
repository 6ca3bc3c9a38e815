import Foundation
import StrictText

/// All errors that reach an application, and all codes of CKError, with their texts. ``PresentableError``, `snapsync explain` and
/// docs/errors.md all take their texts from this table.
///
///     ErrorEntry(code: error.code).text(in: .italian).title
///     ErrorEntry(number: 14)?.identifier        // "cloud.serverRecordChanged"
///
/// Source of numbers and names: `CKError.Code` of Apple's CloudKit. A code that CKError does not have is listed under the closest number.
public enum ErrorTable {
    /// The rows: those of the cloud sorted by CKError's numbers, then the other families.
    public static let entries: [ErrorEntry] = ErrorRows.entries

    static let byIdentifier = Dictionary(entries.map { ($0.identifier, $0) }, uniquingKeysWith: { first, _ in first })

    /// The rows that match a word: a number or a name of CKError, an identifier, or the part of an identifier after the dot.
    public static func entries(for word: String) -> [ErrorEntry] {
        if let number = Int(word) { return entries.filter { $0.number == number } }
        return entries.filter { $0.identifier == word || $0.name == word || $0.identifier.exact.hasSuffix(".\(word)") }
    }
}

extension CloudError.Code {
    /// The code's row in the table of errors.
    public var entry: ErrorEntry { ErrorEntry(code: self) }
    /// The number of the `CKError.Code` with the same meaning.
    public var number: Int { entry.number ?? 1 }
    /// The identifier of the code's row.
    var identifier: String { "cloud.\(name)" }
}

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
