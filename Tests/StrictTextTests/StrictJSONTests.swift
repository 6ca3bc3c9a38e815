import Foundation
import StrictText
import Testing

@Suite struct StrictJSONTests {
    private struct Document: Codable, Equatable {
        var a: Int
        var b: String?
    }

    @Test func aDocumentRoundTripsWithSortedKeys() throws {
        let data = try StrictJSON.encode(Document(a: 1, b: "x/y"))
        #expect(String(decoding: data, as: UTF8.self) == #"{"a":1,"b":"x/y"}"#)
        #expect(try StrictJSON.decode(Document.self, from: data) == Document(a: 1, b: "x/y"))
    }

    @Test(arguments: [
        #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, #"{"a":1,}"#, #"{"a":1} "b""#, "\u{FEFF}{\"a\":1}", #"{"a":1,"b":"\ud800"}"#,
        #"{"a":1,"b":{"c":1,"d":2,"c":3}}"#,
        "{\"a\":1", "",
    ])
    func whatFoundationWouldTakeOrGuessIsRefused(text: String) {
        #expect(throws: JSONFault.self) { try StrictJSON.decode(Document.self, from: Data(text.utf8)) }
    }

    @Test func bytesThatAreNotUTF8AreRefused() {
        for bad in [[0xFF], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82]] as [[UInt8]] {
            #expect(throws: JSONFault.self) { try StrictJSON.decode(Document.self, from: Data("{\"a\":1,\"b\":\"".utf8 + bad + "\"}".utf8)) }
        }
    }

    @Test func equalKeysInDifferentObjectsAreFine() throws {
        let text = #"{"a":1,"b":"{\"a\":2}","c":[{"a":1},{"a":[{"a":2}]}]}"#
        #expect(try StrictJSON.decode(Document.self, from: Data(text.utf8)).a == 1)
    }

    @Test func theFirstByteThatIsNotUTF8IsFound() {
        for position in 0..<40 {
            var bytes = [UInt8](repeating: 0x61, count: 40)
            #expect(bytes.withUnsafeBytes { UTF8Check.firstFault(in: $0) } == nil)
            bytes[position] = 0x80
            #expect(bytes.withUnsafeBytes { UTF8Check.firstFault(in: $0) } == position)
        }
    }
}
