extension CloudErrorTable {
    /// The table as docs/errors.md shows it.
    package static var markdown: String {
        var lines = [
            "# Errors",
            "",
            "What can go wrong at a cloud. The numbers and names in the first two columns are those of CloudKit's `CKError.Code`; *code* is the",
            "name in this library, `CloudError.Code`. Rows without a code are never raised here: they stand here because programs for CloudKit",
            "handle them. This page is made from the table in `Sources/CloudStore/Errors/CloudErrorTable.swift`; to make it again:",
            "",
            "```sh",
            "SNAPSYNC_WRITE_DOCS=1 swift test --filter ErrorTableTests",
            "```",
            "",
            "| number | CKError | code | meaning | try again? | what to tell people | next step |",
            "|---|---|---|---|---|---|---|",
        ]
        for entry in entries {
            let code = entry.isRaisedHere ? "`\(entry.code)`" : ""
            lines.append(
                "| \(entry.number) | `\(entry.name)` | \(code) | \(entry.meaning) | \(entry.retry.rawValue) | \(entry.sentence) | \(entry.nextStep) |")
        }
        lines += [
            "",
            "`partialFailure` is a wrapper: `CloudError.cause` is the error of the record that made the request fail, and `partialErrors` has",
            "them all by name. What a user interface shows (`PresentableError`) is always the cause.",
            "",
        ]
        return lines.joined(separator: "\n")
    }
}
