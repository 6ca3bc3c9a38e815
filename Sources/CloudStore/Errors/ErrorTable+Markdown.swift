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
