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
    public static let entries: [ErrorEntry] = access + requests + records + zones + shares + sync + database + data + gate

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

extension ErrorTable {
    /// The table as docs/errors.md shows it.
    package static var markdown: String {
        var lines = [
            "# Errors",
            "",
            "What can go wrong, and what an application says about it. `PresentableError(error, in: .preferred)` makes the texts of any error of this",
            "library; `PresentableError.translated(to:)` gives another language. The *identifier* never changes: log it, ask for it in support, and look it",
            "up with `snapsync explain IDENTIFIER`. A `SyncError` has the identifier of what caused it, as far as that is known.",
            "",
            "This page is made from `ErrorTable` (`Sources/CloudStore/Errors`). To make it again:",
            "",
            "```sh",
            "SNAPSYNC_WRITE_DOCS=1 swift test --filter ErrorTableTests",
            "```",
            "",
            "## The cloud",
            "",
            "The numbers and names in the first two columns are those of CloudKit's `CKError.Code`; `ErrorEntry(number: 14)` looks one up. What stands behind",
            "`cloud.` in an identifier is the name of a `CloudError.Code`. This library never raises the rows without an identifier: they are here because",
            "programs for CloudKit handle them. They have texts, too.",
            "",
            "| number | CKError | identifier | meaning | try again? |",
            "|---|---|---|---|---|",
        ]
        let cloud = entries.filter { $0.number != nil }, others = entries.filter { $0.number == nil }
        for entry in cloud {
            let identifier = entry.isRaisedHere ? "`\(entry.identifier)`" : ""
            lines.append("| \(entry.number ?? 0) | `\(entry.name ?? "")` | \(identifier) | \(entry.meaning) | \(entry.retry.rawValue) |")
        }
        lines += [
            "",
            "`partialFailure` is a wrapper: `CloudError.cause` is the error of the record that made the request fail, and `partialErrors` has",
            "them all by name. What a user interface shows is always the cause.",
            "",
            "## The sync, the database, the data and the gate",
            "",
            "What stands behind `sync.` is the name of a `SyncError.Code`, and behind `gate.` that of a `GateReason.Code`.",
            "",
            "| identifier | meaning | try again? |",
            "|---|---|---|",
        ]
        lines += others.map { "| `\($0.identifier)` | \($0.meaning) | \($0.retry.rawValue) |" }
        for (heading, language) in [("Texts in English", ErrorLanguage.english), ("Texts in Italian", .italian)] {
            lines += ["", "## \(heading)", "", "| identifier | title | what happened | next step |", "|---|---|---|---|"]
            lines += entries.map {
                let text = $0.text(in: language)
                return "| `\($0.identifier)` | \(text.title) | \(text.message) | \(text.nextStep) |"
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }
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
