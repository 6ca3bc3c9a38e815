import Foundation
import StrictText
import TestSupport
import Testing

@testable import SnapshotVersions

/// The fields of a record that a database keeps are read as Codable reads them, however they were altered.
@Suite struct KnownFieldsTests {
    @Test func keptFieldsAreReadAsCodableReadsThem() throws {
        let hash = String(repeating: "0a", count: 32)
        let asset =
            #"{"index":{"sha256":"\#(hash)","size":400},"path":"assets/a_data/00000000000000000013-0a1b2c3d.json.gz","rawSize":900,"sha256":"\#(hash)","size":300}"#
        let text = #"{"changeFile":\#(asset),"changeFiles":[\#(asset)],"dataFile":\#(asset),"recordCount":5,"syncTimestamp":"2026-11-21T08:32:00.250Z"}"#
        let seed = UInt64.random(in: 1 ... .max)
        _ = try #require(Array(text.utf8).withUnsafeBytes { StrictJSON.plain(DatasetRecord.self, $0) }, "not read without Codable")
        for bytes in AlteredJSON(of: text, seed: seed, count: 4000) {
            guard let plain = bytes.withUnsafeBytes({ StrictJSON.plain(DatasetRecord.self, $0) }) else { continue }
            #expect((try? StrictJSON.decodeAny(DatasetRecord.self, from: Data(bytes))) == plain, "seed \(seed): \(String(decoding: bytes, as: UTF8.self))")
            #expect(try StrictJSON.encode(plain) == StrictJSON.encodeAny(plain), "seed \(seed): \(String(decoding: bytes, as: UTF8.self))")
        }
    }
}
