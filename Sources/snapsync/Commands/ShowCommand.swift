import ArgumentParser
import CommandSupport
import Foundation
import SnapshotSync
import StrictText

/// `snapsync show`: prints a dataset's JSON after checking it.
struct ShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Print a dataset as one JSON container, after checking every byte.",
        discussion: """
            Print all rows of a dataset as one JSON container: the bytes that zcat prints for a snapshot asset of that version. Each block \
            is checked before it is printed. If a block is damaged, the output ends before it, and the command fails. Of a location \
            without a database, you can also pass a record's name, as log prints it.

            EXAMPLES
              snapsync show phone.db notifications | jq '.notifications[0]'
              snapsync show /mnt/share/app products --at 3
            """)

    @OptionGroup var look: LookOptions
    @Argument(help: "The table or dataset, or of a location without a database a record's name.")
    var dataset: String
    @Option(name: .long, help: ArgumentHelp("The version. Default: the newest.", valueName: "n"))
    var at: Int?
    @Flag(name: .long, help: "Print text that contains a JSON object or array as that value, for easier reading.")
    var nested = false

    func run() async throws {
        try await Printer(isJSON: false).run {
            let isTerminal = StandardStream.output.isTerminal
            func put(_ text: UnsafeRawBufferPointer) throws {
                // On a terminal, control characters in values are escaped; a file or pipe gets the unchanged bytes.
                guard isTerminal else { return try StandardStream.output.write(text) }
                try StandardStream.output.write(Printer.escape(json: String(decoding: text, as: UTF8.self)))
            }
            var lines = NestedJSON()
            try await look.inspector().writeContainer(of: dataset, version: at) { text in
                if nested { try lines.unfold(text).withUnsafeBytes(put) } else { try put(text) }
            }
            try lines.end().withUnsafeBytes(put)
        }
    }
}

/// Unfolds JSON that a string holds as text, in lines of JSON: `"tags":"[1,2]"` becomes `"tags":[1,2]`.
struct NestedJSON {
    private var rest: [UInt8] = []

    /// Returns the lines that are complete now. What begins a line is kept until its end comes.
    mutating func unfold(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        rest += bytes
        guard let end = rest.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        defer { rest.removeFirst(end + 1) }
        return Self.unfolded(rest[...end])
    }

    /// Returns the last line, which may have no end.
    func end() -> [UInt8] { Self.unfolded(rest[...]) }

    private static func unfolded(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var output: [UInt8] = [], position = text.startIndex
        output.reserveCapacity(text.count)
        while position < text.endIndex {
            guard text[position] == UInt8(ascii: "\"") else {
                output.append(text[position])
                position += 1
                continue
            }
            var end = position + 1
            while end < text.endIndex, text[end] != UInt8(ascii: "\"") { end += text[end] == UInt8(ascii: "\\") ? 2 : 1 }
            let string = text[position..<min(end + 1, text.endIndex)]
            position = string.endIndex
            // A string before a colon is a name.
            output += position < text.endIndex && text[position] == UInt8(ascii: ":") ? string : value(of: string)[...]
        }
        return output
    }

    /// The value that a string's text is, if that is an object or an array; else the string.
    private static func value(of string: ArraySlice<UInt8>) -> [UInt8] {
        guard let first = string.dropFirst().first, [UInt8(ascii: "{"), UInt8(ascii: "[")].contains(first),
            let texts = try? StrictJSON.decode([String].self, from: Data([UInt8(ascii: "[")] + string + [UInt8(ascii: "]")])), let text = texts.first,
            (try? Array(text.utf8).withUnsafeBytes(StrictJSON.check)) != nil
        else { return Array(string) }
        // Between the parts of a value, the end of a line is a space.
        return text.utf8.map { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") ? UInt8(ascii: " ") : $0 }
    }
}
