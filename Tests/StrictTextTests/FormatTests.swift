import Foundation
import StrictText
import TestSupport
import Testing

/// Numbers in sentences: they agree with their words, and one function makes them.
@Suite struct FormatTests {
    @Test func wordsAgreeWithNumbers() {
        #expect([0, 1, 2, 1234].map { Format.count($0, "row") } == ["0 rows", "1 row", "2 rows", "1,234 rows"])
        #expect([0, 1, 2].map { Format.count($0, "entity was", or: "entities were") } == ["0 entities were", "1 entity was", "2 entities were"])
        #expect([0, 1, 2].map { Format.word($0, "it", or: "them") } == ["them", "it", "them"])
        #expect([0, 999, 1000, -1_234_567].map { Format.count($0) } == ["0", "999", "1,000", "-1,234,567"])
        #expect([0, 999, 1000, 14_249, 204_100_000].map(Format.bytes) == ["0 B", "999 B", "1.0 kB", "14.2 kB", "204.1 MB"])
    }

    private static let plural = #"(count|Count|waiting|\$0) == 1 \? ("[^"]*" : "[^"]*s"|"" : "s|"(is|was|it|has)" : ")"#

    /// `row\(count == 1 ? "" : "s")` is what the function is for.
    @Test func noPluralIsMadeByHand() throws {
        let root = Repository.root
        let files = FileManager.default.enumerator(at: root.appendingPathComponent("Sources"), includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
        let sources = files.filter { $0.pathExtension == "swift" }
        #expect(sources.count > 300)
        for file in sources {
            let text = try String(contentsOf: file, encoding: .utf8)
            for line in text.split(separator: "\n") where line.range(of: Self.plural, options: .regularExpression) != nil {
                Issue.record("\(file.lastPathComponent): \(line.trimmingCharacters(in: .whitespaces))")
            }
        }
    }
}
