import CloudStore
import Foundation
import Testing

/// The words that people write down, compare and type.
@Suite struct RecoveryCodeTests {
    /// Made with Tests/Sealed/sealed.py of the bytes 0 to 31.
    private static let words =
        "babad-bamag-bibaj-bimal-boban-bomar-bubat-bumaz-dabid-damig-dibij-dimil-dobin-domir-dubit-dumiz-lufop-dulap"

    @Test func theWordsAreTheDocumentedOnes() throws {
        let code = try #require(RecoveryCode(Self.words))
        #expect(code.seed == Array(0..<32) && code.words == Self.words)
        #expect(code.publicKey(.x25519) == "8f40c5adb68f25624ae5b214ea767a6ec94d829d3d7b5e1ad1ba6f3e2138285f")
        #expect(RecoveryCode(" \(Self.words.uppercased().replacing("-", with: " ")) \n")?.seed == code.seed)
        // What is printed by accident says nothing.
        #expect(!"\(code)".contains("babad") && !String(reflecting: code).contains("babad"))
    }

    @Test func aNewCodeIsReadBack() throws {
        let code = RecoveryCode()
        #expect(code.words.split(separator: "-").count == RecoveryCode.wordCount)
        #expect(RecoveryCode(code.words)?.seed == code.seed && RecoveryCode().words != code.words)
    }

    @Test func aSlipIsFound() {
        let parts = Self.words.split(separator: "-").map(String.init)
        for place in parts.indices {
            var other = parts
            other[place] = other[place] == "zuzuz" ? "babad" : "zuzuz"
            #expect(RecoveryCode(other.joined(separator: "-")) == nil, "word \(place)")
            guard place > 0 else { continue }
            other = parts
            other.swapAt(place, place - 1)
            #expect(RecoveryCode(other.joined(separator: "-")) == nil, "words \(place - 1) and \(place)")
        }
        for text in ["", "babad", parts.dropLast().joined(separator: "-"), Self.words + "-babad", Self.words.replacing("babad", with: "babae")] {
            #expect(RecoveryCode(text) == nil)
        }
    }
}
