import ArgumentParser
import Foundation
package import Logging
import Platform
import SnapshotSync
package import StrictText

/// Prints results: for people by default, as one JSON object for programs.
package struct Printer {
    package let isJSON: Bool
    /// Whether notices are omitted, too, for runs that print nothing if all is well.
    package var isQuiet = false

    /// An additional action for an error that ends the command, after it was printed.
    package var failed: @Sendable (SyncError) -> Void = { _ in }

    package init(isJSON: Bool) { self.isJSON = isJSON }

    /// The logger for the engine. With JSON output only warnings are logged, so that standard error otherwise has at most one object.
    package var logger: Logger {
        var logger = Logger(label: "snapsync")
        if isJSON || isQuiet { logger.logLevel = .warning }
        return logger
    }

    /// Prints a report: `lines` for people, or the report itself as JSON.
    package func print(_ report: some Encodable, _ lines: @autoclosure () -> [String]) throws { try print(report, lines: lines().map { Line($0) }) }

    /// Prints a report, with colours on a terminal.
    package func print(_ report: some Encodable, lines: @autoclosure () -> [Line]) throws {
        guard !isJSON else { return try StandardStream.output.write(Self.json(report) + "\n") }
        let style = TerminalText(.output), hints = HintCommands()
        let texts = lines().map { style.paint(VisibleText.escape($0.text.exact.hasPrefix("  warning: ") ? hints.complete($0.text) : $0.text), $0.tone) + "\n" }
        try StandardStream.output.write(texts.joined())
    }

    /// Prints a report of what was done. If standard output cannot be written, the run has not failed: a warning on standard error says so.
    ///
    /// - Parameter isIrreplaceable: whether the report is what the run was for: a plan, or a recovery code. Then it must be written.
    package func done(_ report: some Encodable, isIrreplaceable: Bool = false, _ lines: @autoclosure () -> [String]) throws {
        do {
            try print(report, lines())
        } catch let error as SyncError where !isIrreplaceable {
            try? StandardStream.remark("warning", "\(error.place): \(error.reason); what was to be done is done")
        }
    }

    /// Prints an error on standard error: a sentence with a hint, or a JSON object.
    package func print(_ error: SyncError) {
        let text: String
        if isJSON, let json = try? Self.json(ErrorDocument(error)) {
            text = json
        } else {
            let words = ProgramArguments.words, command = [UsageError.name(of: Program.root)] + words.prefix(CommandPath(words).count)
            let kind = error.exitStatus == SyncError.Code.refused.exitStatus ? " refused:" : ""
            let details = error.details.map { "\n  " + VisibleText.escape($0) }.joined()
            text =
                TerminalText(.error).paint("\(command.joined(separator: " ")):", .bad) + VisibleText.escape("\(kind) \(error.place): \(error.reason)") + details
                + (error.hint.map { "\n  hint: " + VisibleText.escape(HintCommands().complete($0)) } ?? "")
        }
        // If standard error cannot be written, only the exit code reports the error.
        try? StandardStream.error.write(text + "\n")
    }

    /// Encodes a value as JSON without characters that a terminal obeys.
    package static func json(_ value: some Encodable) throws -> String {
        escape(json: String(decoding: try StrictJSON.encode(value), as: UTF8.self))
    }

    /// Escapes control characters in the strings of JSON text, without changing its value. JSON always escapes those below U+0020. It need not
    /// escape the others or marks that change the text direction, but some terminals obey them.
    package static func escape(json text: String) -> String {
        guard text.unicodeScalars.contains(where: { VisibleText.isControl($0) && $0 != "\n" }) else { return text }
        return String(
            String.UnicodeScalarView(
                text.unicodeScalars.flatMap { scalar -> [Unicode.Scalar] in
                    guard VisibleText.isControl(scalar), scalar != "\n" else { return [scalar] }
                    // Outside strings a carriage return is white space; inside them it is already escaped.
                    guard scalar != "\r" else { return [" "] }
                    return String(scalar).utf16.flatMap { unit in
                        let digits = String(unit, radix: 16)
                        return Array(("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).unicodeScalars)
                    }
                }))
    }
}

extension Printer {
    /// Runs long work like ``run(_:)``, and shows its progress on a terminal.
    ///
    /// - Parameters:
    ///   - title: a word for the work, shown until a step reports its progress; nil if no progress is shown.
    ///   - body: gets the progress handler for the engine; nil if no progress is shown.
    package func work(_ title: String?, _ body: (ProgressHandler?) async throws -> Void) async throws {
        let line = isJSON || isQuiet ? nil : title.flatMap(ProgressLine.begin)
        try await run {
            defer { line?.end() }
            try await body(line?.handler)
        }
    }

    /// Runs a command's work. An error is printed and ends the process with its code.
    package func run(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as SyncError {
            print(error)
            failed(error)
            throw ExitCode(error.exitStatus)
        }
    }
}

/// An error in JSON output.
package struct ErrorDocument: Encodable {
    package let error: SyncError

    package init(_ error: SyncError) {
        var error = error
        error.hint = error.hint.map(HintCommands().complete)
        self.error = error
    }

    /// A mistake on the command line.
    package init(usage message: String, of command: String) {
        var error = SyncError(SyncError.Code(name: "usage"), at: command, message, hint: "\(command) --help")
        error.identifier = "usage"
        self.error = error
    }
}

extension Format {
    /// `1 entity`, `2 entities`.
    package static func entities(_ value: Int) -> String { count(value, "entity", or: "entities") }

    /// `4 requests to the bucket, 2.1 kB received, 0 B sent`.
    package static func requests(_ usage: RequestUsage) -> String {
        "\(count(usage.reads + usage.writes + usage.removals, "request")) to the bucket, \(bytes(usage.bytesReceived)) received, \(bytes(usage.bytesSent)) sent"
    }

    /// A line about edits that lost, with each reason; empty if there are none.
    package static func conflicts(_ reasons: [String: Int]) -> [String] {
        let parts = reasons.sorted { $0.key.exact < $1.key.exact }.map { reason, count in
            let edits = self.count(count, "edit")
            return switch reason {
            case "laterEdit": "\(edits) lost to \(word(count, "a later one", or: "later ones"))"
            case "laterDeletion": "\(edits) lost to \(word(count, "a later deletion", or: "later deletions"))"
            case "sameKey": "\(edits) lost to \(word(count, "another row", or: "other rows")) with the same key"
            case "valueTaken": "\(edits) did not fit beside other rows"
            case "parentNeeded": "\(self.count(count, "deletion was", or: "deletions were")) not made, because other rows refer to the row"
            case "refused": "\(self.count(count, "edit was", or: "edits were")) refused by the publisher"
            default: "\(edits) lost (\(reason))"
            }
        }
        return parts.isEmpty ? [] : ["  \(parts.joined(separator: ", ")); \(HintCommands().complete("see: snapsync conflicts"))"]
    }

    /// A dataset in a version: its snapshot asset, and the number of change assets after it.
    package static func record(_ record: HistoryReport.Version.Dataset) -> String {
        let count = record.changeFiles.count
        let changes =
            count == 0 ? "" : ", with \(Format.count(count, "change asset")) of \(bytes(record.changeSize)) up to \(record.changeFiles[count - 1])"
        return "  \(record.record): \(entities(record.recordCount)), \(bytes(record.size)) in \(record.file)\(changes)"
    }
}
