import Foundation
package import Logging
import SnapshotSync
import StrictText

/// Standard output and standard error, written without buffering, so that all output is written when the process ends.
package enum StandardStream: Int32 {
    case output = 1
    case error = 2

    package var isTerminal: Bool { isatty(rawValue) == 1 }

    /// Whether a person can answer a question.
    package static var isInputTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// Writes a question to standard error, so that standard output contains only results.
    package static func ask(_ text: String) { try? error.write(text) }

    /// Writes a line for people to standard error: `snapsync: warning: …`. Control characters are made visible.
    ///
    /// - Parameter kind: `warning` or `notice`.
    package static func remark(_ kind: String, _ text: String) throws {
        let style = TerminalText(.error)
        try error.write(
            "\(style.paint("snapsync: \(kind):", kind == "notice" ? nil : kind == "warning" ? .attention : .bad)) \(VisibleText.escape(HintCommands().complete(text)))\n"
        )
    }

    /// Writes a whole text, after removing a progress line.
    package func write(_ text: String) throws {
        ProgressLine.clear()
        try put(text)
    }

    /// Writes all bytes, after removing a progress line.
    package func write(_ bytes: UnsafeRawBufferPointer) throws {
        ProgressLine.clear()
        try put(bytes)
    }

    /// Writes a whole text without removing a progress line.
    package func put(_ text: String) throws {
        var text = text
        try text.withUTF8 { try put(UnsafeRawBufferPointer($0)) }
    }

    private func put(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = Foundation.write(rawValue, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw SyncError(
                    .inputOutput, at: self == .output ? "standard output" : "standard error", "it cannot be written: \(String(cString: strerror(errno)))",
                    hint: "make room, or check what the output goes to")
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
    }
}

/// A log handler that writes messages in the command's form, `snapsync: warning: …`, to standard error, from level notice on.
package struct StandardErrorLog: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var logLevel: Logger.Level = .notice

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let facts = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
        // If a log message cannot be written, the work continues.
        try? StandardStream.remark("\(event.level)", "\(event.message)" + (facts.isEmpty ? "" : " (\(facts))"))
    }
}
