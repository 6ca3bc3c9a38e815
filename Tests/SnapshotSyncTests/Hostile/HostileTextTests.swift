import Foundation
import SnapshotFormat
import SnapshotModel
import StrictText
import Testing

@testable import CloudStore

/// What each parser does with the texts that parsers get wrong: one table, a row a text, a column a parser.
///
/// A text stands where the parser takes any JSON value: an unknown key of a commit, a checkpoint and a message, a JSON column of
/// an entity, an unknown field of one. Where it takes a string alone, the text is tried as that.
@Suite struct HostileTextTests {
    /// The places where a text is put.
    enum Place: String, CaseIterable {
        /// A control document by itself, as `cloud.json`, `zone.json` and dataset files are read.
        case document
        case commit, checkpoint, message
        /// The value of a text column, of a JSON column and of a field that the schema lacks, in a block, in a change asset, and in a
        /// container made elsewhere.
        case blockText, blockJSON, changeText, changeJSON, containerText, containerJSON, containerUnknown
        /// A member of a container that is no dataset.
        case containerMember
    }

    /// Where a text is taken; everywhere else it must be refused, with an error and nothing else.
    struct Row: CustomTestStringConvertible {
        let name: String
        let text: [UInt8]
        let takenIn: Set<Place>
        var testDescription: String { name }

        init(_ name: String, _ text: String, in places: Set<Place>) { self.init(name, bytes: Array(text.utf8), in: places) }
        init(_ name: String, bytes: [UInt8], in places: Set<Place>) { (self.name, text, takenIn) = (name, bytes, places) }
    }

    private static let sealed: Set<Place> = [.document, .commit, .checkpoint, .message]
    private static let strings: Set<Place> = [.blockText, .changeText, .containerText]
    /// Places of rows whose JSON is walked and kept as it stands.
    private static let kept: Set<Place> = [.blockJSON, .changeJSON, .containerJSON]
    private static let skipped: Set<Place> = [.containerUnknown, .containerMember]
    private static let all = Set(Place.allCases)
    private static func nested(_ depth: Int) -> String { String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }

    static let rows: [Row] = [
        // What RFC 8259 allows and careless readers refuse.
        Row("escapes", #""\u0041\n\/\"\\\b\f\r\t""#, in: all),
        Row("escaped surrogate pair", #""\ud83d\ude00""#, in: all),
        Row("escaped NUL", #""a\u0000b""#, in: all),
        Row("unescaped DEL, C1 and line separators", "\"\u{7F}\u{9B}\u{2028}\u{FEFF}\"", in: all),
        Row("0e1", "0e1", in: all.subtracting(strings)),
        Row("-0", "-0", in: all.subtracting(strings)),
        Row("a number beyond every type", "1e999999", in: all.subtracting(strings)),
        Row("10,000 digits", String(repeating: "9", count: 10_000), in: all.subtracting(strings)),
        Row("white space everywhere", " { \"a\" :\t[ 1 , 2 ]\r\n } ", in: all.subtracting(strings)),
        Row("an empty key", #"{"":1}"#, in: all.subtracting(strings)),
        // What it allows and is refused where it would hide or cost something.
        Row("an escaped lone surrogate", #""\ud800""#, in: kept.union(skipped)),
        Row("an escaped lone low surrogate", #""a\udc00b""#, in: kept.union(skipped)),
        Row("an escaped pair the wrong way round", #""\ude00\ud83d""#, in: kept.union(skipped)),
        Row("a key twice", #"{"a":1,"a":2}"#, in: kept.union(skipped)),
        Row("a key twice, once escaped", #"{"a":1,"\u0061":2}"#, in: kept.union(skipped)),
        Row("60 levels", nested(60), in: all.subtracting(strings)),
        Row("70 levels", nested(70), in: kept.union(skipped)),
        Row("512 levels", nested(512), in: kept.union(skipped)),
        // The levels of a container's array and its rows do not count.
        Row("514 levels", nested(514), in: [.containerMember]),
        Row("515 levels", nested(515), in: []),
        Row("100,000 levels", nested(100_000), in: []),
        Row("100,000 levels that do not end", String(repeating: "[", count: 100_000), in: []),
        Row("100,000 objects in one another", String(repeating: #"{"a":"#, count: 100_000) + "1" + String(repeating: "}", count: 100_000), in: []),
        // What it does not allow and careless readers take.
        Row("nothing", "", in: []),
        Row("a byte order mark", "\u{FEFF}1", in: []),
        Row("a NUL", bytes: [0], in: []),
        Row("a raw NUL in a string", bytes: Array("\"a\0b\"".utf8), in: []),
        Row("a raw line feed in a string", "\"a\nb\"", in: []),
        Row("a value and more", "1 2", in: []),
        Row("a leading zero", "01", in: []),
        Row("a plus", "+1", in: []),
        Row("no digit behind the point", "1.", in: []),
        Row("no digit before it", ".5", in: []),
        Row("hexadecimal", "0x10", in: []),
        Row("NaN", "NaN", in: []),
        Row("Infinity", "-Infinity", in: []),
        Row("True", "True", in: []),
        Row("a trailing comma in an array", "[1,]", in: []),
        Row("a trailing comma in an object", #"{"a":1,}"#, in: []),
        Row("a comma too many", "[1,,2]", in: []),
        Row("single quotes", "'a'", in: []),
        Row("a comment", "1/**/", in: []),
        Row("a key without quotes", "{a:1}", in: []),
        Row("an unknown escape", #""\x41""#, in: []),
        Row("a short escape", #""\u12""#, in: []),
        Row("a string that does not end", #""a"#, in: []),
        Row("brackets of two kinds", "[1}", in: []),
        // What is not UTF-8.
        Row("0xFF", bytes: [0x22, 0xFF, 0x22], in: []),
        Row("an overlong slash", bytes: [0x22, 0xC0, 0xAF, 0x22], in: []),
        Row("a surrogate in bytes", bytes: [0x22, 0xED, 0xA0, 0x80, 0x22], in: []),
        Row("beyond U+10FFFF", bytes: [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], in: []),
        Row("a sequence cut by the quote", bytes: [0x22, 0xE2, 0x82, 0x22], in: []),
        Row("UTF-16", bytes: [0x31, 0x00], in: []),
    ]

    @Test(arguments: rows) func eachParserTakesATextOrRefusesIt(row: Row) throws {
        for place in Place.allCases {
            let taken = Self.takes(row.text, in: place)
            #expect(taken == row.takenIn.contains(place), "\(row.name) in \(place): \(taken ? "taken" : "refused")")
        }
    }

    private static func takes(_ text: [UInt8], in place: Place) -> Bool {
        do {
            switch place {
            case .document: try text.withUnsafeBytes { try StrictJSON.check($0) }
            case .commit: try HostileText.commit(text)
            case .checkpoint: try HostileText.checkpoint(text)
            case .message: try HostileText.message(text)
            case .blockText: try HostileText.block(title: text)
            case .blockJSON: try HostileText.block(tree: text)
            case .changeText: try HostileText.changes(title: text)
            case .changeJSON: try HostileText.changes(tree: text)
            case .containerText: try HostileText.container(title: text)
            case .containerJSON: try HostileText.container(tree: text)
            case .containerUnknown: try HostileText.container(unknown: text)
            case .containerMember: try HostileText.container(member: text)
            }
            return true
        } catch is JSONFault {
            return false
        } catch let error as SyncError where error.format != nil {
            return false
        } catch is CloudError {
            return false
        } catch {
            Issue.record("an error of no room: \(error)")
            return false
        }
    }

    /// A JSON column is passed through as it stands, an escaped lone surrogate too: SQLite takes it for JSON, and a dataset is not
    /// held up by one row of an app that cuts its emoji in two.
    @Test func anEscapedLoneSurrogateInAJSONColumnComesThroughAsItIs() throws {
        let tree = #"{"a":"\ud83d","b":[1.50,"\udE00x"]}"#
        #expect(try HostileText.block(tree: Array(tree.utf8)) == [Array(tree.utf8)])
        #expect(try HostileText.changes(tree: Array(tree.utf8)) == [Array(tree.utf8)])
    }

    @Test(arguments: [
        "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "0000-01-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:60Z", "2026-01-01 00:00:00Z",
        "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00.1234567890Z", "2026-01-01T00:00:00z", "２026-01-01T00:00:00Z",
        "2026-01-01T00:00:00Z\0",
        "+2026-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "", "2026-01-01T00:00:00+24:00",
    ])
    func noInstantIsGuessed(text: String) {
        #expect(throws: InstantError.self) { try Instant(parsing: text) }
    }
}
