@testable import CloudStore
@testable import DirectoryCloud
import Foundation
import StrictText
import TestSupport
import Testing

/// A document of the cloud that reads itself from a tree means what Codable makes of it, however it was altered.
@Suite struct PlainDocumentTests {
    private static let hash = String(repeating: "0a", count: 32)
    private static let token = #"{"hash":"\#(hash)","number":12}"#
    private static let asset =
        #"{"index":{"sha256":"\#(hash)","size":400},"path":"assets/a_data/00000000000000000013-0a1b2c3d.json.gz","rawSize":900,"sha256":"\#(hash)","size":300}"#
    private static let commit = """
        {"answered":{"phone":7,"watch":1790000000000000},"approvals":["shrink:a_data"],"checkpoint":{"number":10,"sha256":"\(hash)"},"clock":"2026-11-21T08:32:00.250Z","cloud":"u","deleted":["x"],"device":"phone",\
        "messages":{"applied":["1"],"refused":[]},"nonce":"0011","number":13,"parent":"\(hash)","requires":null,"saved":[{"created":{"at":"2026-11-21T08:32:00Z","by":"phone"},\
        "fields":{"dataFile":{"type":"asset","value":\(asset)},"recordCount":{"type":"integer","value":5},"changeFiles":{"type":"list","value":[{"type":"asset","value":\(asset)}]},\
        "syncTimestamp":{"type":"date","value":"2026-11-21T08:32:00.250Z"},"note":{"type":"string","value":"é"},"is":{"type":"boolean","value":true}},"name":"a_data","type":"AData"}],\
        "timestamp":"2026-11-21T08:32:00.250Z","zone":"private/Z"}
        """

    private func expectAgreement<T: JSONNodeDecodable & Encodable>(_ type: T.Type, _ text: String, count: Int = 4000) throws {
        let seed = UInt64.random(in: 1 ... .max)
        let whole = try #require(Array(text.utf8).withUnsafeBytes { StrictJSON.plain(type, $0) }, "not read without Codable")
        #expect(try StrictJSON.encode(whole) == StrictJSON.encode(StrictJSON.decodeAny(type, from: Data(text.utf8))))
        for bytes in AlteredJSON(of: text, seed: seed, count: count) {
            guard let plain = bytes.withUnsafeBytes({ StrictJSON.plain(type, $0) }) else { continue }
            let coded = try? StrictJSON.encodeAny(StrictJSON.decodeAny(type, from: Data(bytes)))
            #expect(try StrictJSON.encodeAny(plain) == coded, "seed \(seed): \(String(decoding: bytes, as: UTF8.self))")
            if let writable = plain as? any JSONNodeEncodable {
                #expect(try StrictJSON.encode(writable) == coded, "seed \(seed): \(String(decoding: bytes, as: UTF8.self))")
            }
        }
    }

    @Test func commitsAreReadAsCodableReadsThem() throws { try expectAgreement(CommitDocument.self, Self.commit, count: 8000) }

    @Test func checkpointsAreReadAsCodableReadsThem() throws {
        let fields = ["a10", "a9", "B", "_b", "b_"].map { #""\#($0)":{"type":"integer","value":1}"# }.joined(separator: ",")
        let record = """
            {"changeTag":"12","created":{"at":"2026-11-21T08:32:00Z","by":"phone"},"fields":{\(fields),"dataFile":{"type":"asset","value":\(Self.asset)}},\
            "modified":{"at":"2026-11-21T08:32:00.25Z","by":"watch"},"name":"a_data","type":"AData"}
            """
        let checkpoint = """
            {"answered":{"phone":7},"cloud":"u","commit":"\(Self.hash)","number":12,"records":[\(record),{"changeTag":"1","fields":{},"name":"b","type":"B"}],\
            "timestamp":"2026-11-21T08:32:00.250Z","zone":"private/Z"}
            """
        try expectAgreement(CheckpointDocument.self, checkpoint, count: 8000)
        let deletion = checkpoint.replacing("\"zone\":", with: #""zoneDeletion":{"at":"2026-11-21T08:32:00Z","by":"phone","reason":"purged"},"zone":"#)
        #expect(Array(deletion.utf8).withUnsafeBytes { StrictJSON.plain(CheckpointDocument.self, $0) } == nil)
        let read = try StrictJSON.decode(CheckpointDocument.self, from: Data(deletion.utf8))
        #expect(read.zoneDeletion?.reason == "purged")
        #expect(try StrictJSON.encode(read) == StrictJSON.encodeAny(read))
    }

    @Test func markersAreReadAsCodableReadsThem() throws {
        try expectAgreement(ZoneMarker.self, #"{"creator":"phone","features":["f"],"formatVersion":1,"publishers":"one"}"#)
        try expectAgreement(CloudIdentity.self, #"{"container":"iCloud.org.example","formatVersion":1,"uuid":"2f1c"}"#)
        try expectAgreement(MailboxMark.self, #"{"folders":{"":{"text":"1 2 3"},"watch":{"text":"4"}}}"#)
    }

    @Test func reportsAreReadAsCodableReadsThem() throws {
        try expectAgreement(DeviceReport.self, #"{"clock":"2026-11-21T08:32:00.250Z","device":"watch","nonce":"n","role":"reader","token":\#(Self.token)}"#)
    }

    @Test func whatConcernsTheZoneItselfIsLeftToCodable() throws {
        let event = Self.commit.replacing("\"requires\":null", with: "\"requires\":[\"zoneEvents\"],\"zoneEvent\":{\"kind\":\"created\"}")
        #expect(Array(event.utf8).withUnsafeBytes { StrictJSON.plain(CommitDocument.self, $0) } == nil)
        #expect(try StrictJSON.decode(CommitDocument.self, from: Data(event.utf8)).zoneEvent?.event == .created)
    }

    @Test func whatIsWrittenWithoutCodableHasCodablesBytes() throws {
        let values: [CloudValue] = [
            .string("a/\"\\é\u{1F600}\u{7F}"), .string("\u{1}\n"), .integer(.min), .boolean(false), .date(Instant(microseconds: -1)), .double(0.1),
            .bytes(Data([1, 2])),
            .list([.string("x"), .list([])]), .reference(RecordReference(to: "r")),
        ]
        for value in values {
            let document = ValueDocument(value)
            #expect(try StrictJSON.encode(document) == StrictJSON.encodeAny(document), "\(value)")
        }
        let mark = MailboxMark(
            folders: Dictionary(uniqueKeysWithValues: ["", "a10", "a9", "B", "_", "é", "e\u{301}x", "\u{1F600}", "\u{FFFD}"].map { ($0, FolderStamp("1")) }))
        #expect(try StrictJSON.encode(mark) == StrictJSON.encodeAny(mark))
    }
}
