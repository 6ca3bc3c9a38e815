import Foundation
import StrictText
import TestSupport
import Testing

/// What reads itself from a tree is read as Codable reads it, or left to Codable.
@Suite struct JSONNodeTests {
    private struct Sample: JSONNodeDecodable, Equatable {
        struct Part: JSONNodeDecodable, Equatable {
            let id: Int
            let note: String?

            init(_ node: JSONNode) throws(JSONNode.Misfit) {
                let members = try node.object()
                id = try members.member("id").count()
                note = try members.optional("note")?.text()
            }
        }

        let name: String
        let at: Instant
        let isOn: Bool
        let parts: [Part]
        let sizes: [String: Int64]

        init(_ node: JSONNode) throws(JSONNode.Misfit) {
            let members = try node.object()
            name = try members.member("name").text()
            at = try members.member("at").instant()
            isOn = try members.member("isOn").boolean()
            parts = try members.member("parts").list { node throws(JSONNode.Misfit) in try Part(node) }
            var sizes: [String: Int64] = [:]
            for member in try members.member("sizes").object() { sizes[member.name] = try member.node.integer() }
            self.sizes = sizes
        }
    }

    private static let text = """
        {"name":"a \\"b\\" \\u00e9 \u{1F600}","at":"2026-11-21T08:32:00.250Z","isOn":true,"parts":[{"id":1,"note":null},{"id":-2,"note":"x"}],"sizes":{"p":9007199254740993,"q":0}}
        """

    private func plain(_ text: some Sequence<UInt8>) -> Sample? { Array(text).withUnsafeBytes { StrictJSON.plain(Sample.self, $0) } }

    @Test func aDocumentIsReadWithoutCodable() throws {
        let sample = try #require(plain(Self.text.utf8))
        #expect(sample == (try StrictJSON.decodeAny(Sample.self, from: Data(Self.text.utf8))))
        #expect(sample.name == "a \"b\" é \u{1F600}")
        #expect(sample.sizes["p"] == 9_007_199_254_740_993)
        #expect(sample.parts.map(\.note) == [nil, "x"])
    }

    @Test(arguments: [
        #"{"name":"a","name":"b"}"#, #"{"a":1,"\u0061":2}"#, #"{"a":1,}"#, #"[1,]"#, #"{"a":1} x"#, #"{"a":01}"#, #""\ud800""#, "\"\u{0}\"", #"{"a" 1}"#,
        #"{a:1}"#, #"[1 2]"#,
        #"{"a":1"#, "", " ", #""a"#, "tru", "\u{FEFF}{}", #"{,}"#, #"[,]"#, #"{"a":}"#,
    ]) func whatIsNotStrictMakesNoTree(text: String) {
        #expect(Array(text.utf8).withUnsafeBytes { JSONNode($0) } == nil)
        #expect(throws: (any Error).self) { try Array(text.utf8).withUnsafeBytes { try StrictJSON.check($0) } }
    }

    @Test func aRepeatedNameIsFoundAmongManyToo() throws {
        for count in [2, 15, 16, 17, 18, 1000] {
            let members = (0..<count).map { "\"n\($0)\":\($0)" }
            let text = Array("{\(members.joined(separator: ","))}".utf8)
            let object = try #require(text.withUnsafeBytes { JSONNode($0) }).object()
            #expect(object.count == count)
            #expect(try object.member("n\(count - 1)").count() == count - 1)
            for repeated in [0, count / 2, count - 1] {
                let text = Array("{\(members.joined(separator: ",")),\"\\u006e\(repeated)\":0}".utf8)
                #expect(text.withUnsafeBytes { JSONNode($0) } == nil)
            }
        }
    }

    @Test func nestingIsBoundedAsEverywhere() {
        for depth in [1, StrictJSON.depthLimit, StrictJSON.depthLimit + 1, 100_000] {
            for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
                let text = Array((String(repeating: open, count: depth) + (open == "[" ? "" : "1") + String(repeating: close, count: depth)).utf8)
                let isTaken = text.withUnsafeBytes { bytes in (try? StrictJSON.check(bytes)) != nil }
                #expect((text.withUnsafeBytes { JSONNode($0) } != nil) == isTaken)
                #expect(isTaken == (depth <= StrictJSON.depthLimit))
            }
        }
    }

    @Test func whatDoesNotFitIsLeftToCodable() throws {
        // Codable takes 1.0 for an integer; a missing member is its to explain.
        let whole = Self.text.replacing("\"id\":1", with: "\"id\":1.0")
        #expect(plain(whole.utf8) == nil)
        #expect(try StrictJSON.decode(Sample.self, from: whole).parts[0].id == 1)
        #expect(throws: DecodingError.self) { try StrictJSON.decode(Sample.self, from: "{}") }
        #expect(throws: JSONFault.self) { try StrictJSON.decode(Sample.self, from: "{") }
    }

    @Test func alteredDocumentsAreReadAsCodableReadsThem() {
        let seed = UInt64.random(in: 1 ... .max)
        var taken = 0
        for text in AlteredJSON(of: Self.text, seed: seed, count: 20_000) {
            guard let sample = plain(text) else { continue }
            taken += 1
            #expect((try? StrictJSON.decodeAny(Sample.self, from: Data(text))) == sample, "seed \(seed): \(String(decoding: text, as: UTF8.self))")
        }
        #expect(taken > 1000, "seed \(seed)")
    }
}
