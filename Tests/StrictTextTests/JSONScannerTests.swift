import Foundation
import StrictText
import TestSupport
import Testing

@Suite struct JSONScannerTests {
    private func scan(_ text: String) throws -> Int { try Array(text.utf8).withUnsafeBytes { try JSONScanner($0).skipValue(0) } }

    @Test(arguments: [
        "0", "-0", "0e1", "1.5E-7", "true", "false", "null", "\"\"", "\"\\u00e9\\\\\\/\\\"\"", "[]", "{}", "[ ]", "{ }", "[1,2]", "[[],{},[{}]]",
        "{\"a\":1,\"b\":[true,null],\"c\":{\"d\":\"e\"}}", "{\n\t\"a\" :\r 1 }", "\"\\ud83d\\ude00\"",
    ])
    func jsonIsWalkedToItsEnd(text: String) throws {
        #expect(try scan(text) == text.utf8.count)
    }

    @Test(arguments: [
        "", "-", "+1", "01", "1.", ".5", "1e", "tru", "nul", "True", "\"", "\"\\x\"", "\"\\u12g4\"", "\"a\nb\"", "\"\u{0}\"", "[", "[1,]", "[,1]", "[1 2]",
        "{\"a\"}",
        "{\"a\":}", "{a:1}", "{\"a\":1,}", "{\"a\":1]", "[1}", "]", "}", ",", ":", "'a'", "NaN", "Infinity", "/**/1",
    ])
    func whatIsNoJSONIsRefused(text: String) {
        #expect(throws: JSONFault.self) { try scan(text) }
    }

    @Test func depthIsBoundedWithoutRecursion() throws {
        let allowed = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
        #expect(try scan(allowed) == 1024)
        #expect(throws: JSONFault.self) { try scan("[" + allowed + "]") }
        #expect(throws: JSONFault.self) { try scan(String(repeating: "[{\"a\":", count: 100_000)) }
    }

    @Test func objectsAndArraysAreToldApartAtEveryDepth() throws {
        for depth in [1, 63, 64, 65, 128, 200] {
            let open = (0..<depth).map { $0 % 3 == 0 ? "[" : "{\"k\":" }.joined()
            let close = (0..<depth).reversed().map { $0 % 3 == 0 ? "]" : "}" }.joined()
            #expect(try scan(open + "1" + close) == (open + "1" + close).utf8.count)
            let wrong = (0..<depth).reversed().map { $0 % 3 == 0 ? "}" : "]" }.joined()
            #expect(throws: JSONFault.self) { try scan(open + "1" + wrong) }
        }
    }

    @Test func plainEndFindsEverySpecialByteAtEveryPosition() {
        for length in 0..<40 {
            for special in [UInt8(0x22), 0x5C, 0x00, 0x1F, 0x0A] {
                for position in 0..<max(length, 1) where position < length {
                    var bytes = (0..<length).map { [UInt8(0x20), 0x7F, 0x80, 0xFF, 0x21, 0x23, 0x5B, 0x5D][$0 % 8] }
                    bytes[position] = special
                    #expect(bytes.withUnsafeBytes { JSONScanner($0).plainEnd(0) } == position)
                }
            }
            let plain = [UInt8](repeating: 0xA2, count: length)
            #expect(plain.withUnsafeBytes { JSONScanner($0).plainEnd(0) } == length)
        }
    }

    @Test func randomTextsAreJudgedAsPythonJudgesThem() throws {
        var random = SystemRandomNumberGenerator()
        let seed = UInt64.random(in: 0...UInt64.max, using: &random)
        var state = seed
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        let pieces = ["{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "1", "-2.5e3", "true", "null", " ", "\"\\n\"", "01", "\"\\q\""]
        let texts = (0..<2000).map { _ in (0..<1 + next(9)).map { _ in pieces[next(pieces.count)] }.joined() }
        let verdicts = try Python.run(
            """
            import json, sys
            for text in json.load(sys.stdin):
                try:
                    json.loads(text, parse_constant=lambda c: 1/0)
                    print(1)
                except Exception:
                    print(0)
            """, input: JSONEncoder().encode(texts)
        ).split(separator: "\n")
        #expect(verdicts.count == texts.count)
        for (text, verdict) in zip(texts, verdicts) {
            let isJSON =
                (try? Array(text.utf8).withUnsafeBytes { bytes in
                    let scanner = JSONScanner(bytes)
                    return scanner.skipSpace(try scanner.skipValue(scanner.skipSpace(0))) == bytes.count
                }) ?? false
            #expect(isJSON == (verdict == "1"), "seed \(seed): \(text)")
        }
    }
}
