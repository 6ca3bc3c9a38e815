import StrictText

/// The grammar of the names that become file names. It ensures that no name can leave its directory.
///
/// Zones, records, devices and roles: 1 to 64 of `A–Z a–z 0–9 _ - .`, not beginning with a dot. Commits, checkpoints and reports: a number
/// of 20 digits and `.json`. Other files in a directory are ignored.
package enum CloudNames {
    /// The directories beneath a zone.
    package static let commits = "commits", checkpoints = "checkpoints", assets = "assets"
    package static let messages = "messages", devices = "devices"

    /// The largest number of a commit, checkpoint or report. Anybody can create a file with any name there; without this limit, adding 1 to
    /// the largest integer would crash the program.
    package static let largestNumber = 999_999_999_999_999_999

    /// Whether `text` may name a zone, a record, a device or a role.
    package static func isName(_ text: String) -> Bool {
        let bytes = text.utf8
        guard (1...64).contains(bytes.count), bytes.first != UInt8(ascii: ".") else { return false }
        return bytes.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
    }

    /// Whether `text` may name a record's type or field: a letter, then up to 63 letters, digits and `_`.
    package static func isIdentifier(_ text: String) -> Bool {
        let bytes = text.utf8
        guard (1...64).contains(bytes.count), let first = bytes.first, isLetter(first) else { return false }
        return bytes.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "_") }
    }

    /// Whether `text` is `iCloud.` followed by dot-separated parts of letters, digits and `-`.
    package static func isContainer(_ text: String) -> Bool {
        guard text.utf8.count <= 255, text.exact.hasPrefix("iCloud.") else { return false }
        return text.utf8.dropFirst(7).split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { part in
            !part.isEmpty && part.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "-") }
        }
    }

    /// `number` with 20 digits, so that names sort by number.
    package static func digits(_ number: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, 20 - text.utf8.count)) + text
    }

    /// The number of a file called `<20 digits>.json`, at least 1; nil for any other name.
    package static func number(ofFile name: String) -> Int? {
        guard name.exact.hasSuffix(".json") else { return nil }
        return number(ofDigits: name.utf8.dropLast(5))
    }

    /// The number that exactly 20 digits stand for, from 1 to ``largestNumber``; nil for anything else.
    package static func number(ofDigits text: Substring.UTF8View) -> Int? {
        guard text.count == 20, text.allSatisfy(isDigit), let number = Int(String(Substring(text))), (1...largestNumber).contains(number) else { return nil }
        return number
    }

    /// Whether `text` may be a message's id: 32 lower-case hexadecimal digits.
    package static func isMessageID(_ text: String) -> Bool { text.utf8.count == 32 && isHex(text.utf8) }

    package static func isHex(_ text: some Sequence<UInt8>) -> Bool {
        text.allSatisfy { isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
    private static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }
    private static func isLetterOrDigit(_ byte: UInt8) -> Bool { isDigit(byte) || isLetter(byte) }
}

extension CloudNames {
    /// Refuses a name that does not follow the grammar.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments`. The error does not quote the name, since it may contain anything.
    package static func verify(_ name: String, isNameOf what: String) throws(CloudError) {
        guard isName(name) else {
            throw CloudError(
                .invalidArguments, at: what, "the name is not allowed",
                hint: "use 1 to 64 of A-Z a-z 0-9 _ - . and no dot at the beginning")
        }
    }

    /// Refuses a zone whose name does not follow the grammar.
    package static func verify(_ zone: ZoneID) throws(CloudError) {
        try verify(zone.name, isNameOf: "zone")
    }
}
