import Foundation
import LocalStore
import StrictText
import TestSupport
import Testing

/// What a database keeps of its state is read as Codable reads it, however it was altered.
@Suite struct PlainStateTests {
    private func expectAgreement<T: JSONNodeDecodable & JSONNodeEncodable & Equatable>(_ type: T.Type, _ text: String) throws {
        let seed = UInt64.random(in: 1 ... .max)
        let whole = try #require(Array(text.utf8).withUnsafeBytes { StrictJSON.plain(type, $0) }, "not read without Codable")
        #expect(try whole == StrictJSON.decodeAny(type, from: Data(text.utf8)))
        for bytes in AlteredJSON(of: text, seed: seed, count: 2000) {
            guard let plain = bytes.withUnsafeBytes({ StrictJSON.plain(type, $0) }) else { continue }
            #expect((try? StrictJSON.decodeAny(type, from: Data(bytes))) == plain, "seed \(seed): \(String(decoding: bytes, as: UTF8.self))")
            #expect(try Data(StrictJSON.text(plain).utf8) == StrictJSON.encodeAny(plain), "seed \(seed): \(String(decoding: bytes, as: UTF8.self))")
        }
    }

    @Test func stateIsReadAsCodableReadsIt() throws {
        let version = #"{"hash":"0a1b","number":12}"#
        try expectAgreement(AppliedVersion.self, version)
        let intended = #""sequences":{"a":7,"b":9007199254740993},"version":\#(version)"#
        try expectAgreement(IntendedVersion.self, "{\(intended)}")
        try expectAgreement(IntendedVersion.self, #"{"earlier":[{\#(intended)}],\#(intended)}"#)
        try expectAgreement(KnownRecord.self, #"{"document":"{\"a\":1}","version":\#(version)}"#)
        try expectAgreement(RunRecord.self, #"{"at":"2026-11-21T08:32:00.250Z","microseconds":12345}"#)
        try expectAgreement(ReportNonces.self, #"{"next":"n","seen":"s"}"#)
        try expectAgreement(MailboxListingCache.self, #"{"mark":"{}","since":"2026-11-21T08:32:00.250Z"}"#)
        try expectAgreement(Int.self, "17")
        try expectAgreement(String.self, #""version 3""#)
        try expectAgreement([String].self, #"["a","b"]"#)
        try expectAgreement(Instant.self, #""2026-11-21T08:32:00.250Z""#)
    }
}
