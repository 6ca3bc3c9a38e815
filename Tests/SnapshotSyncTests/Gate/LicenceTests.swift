import CloudStore
import Foundation
import SnapshotModel
import StrictText
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotVersions

/// A signed licence entitles whom the vendor named, until its end; whatever else lies in its place entitles nobody.
@Suite struct LicenceTests {
    private let key = LicenceKey()
    private let product = "org.example.board"

    private func closed(_ scene: GateScene, _ file: LicenceFile) async throws -> GateReason? {
        let cloud = scene.sync.cloud
        return try await SyncEngine(database: scene.sync.scratch.path("writer.db"), gate: GateOptions(entitlement: file), now: scene.sync.clock.now) { _ in
            cloud
        }.gate.decision().reason
    }

    @Test func genuineLicenceHoldsUntilItsEnd() async throws {
        let scene = try await GateScene(), path = scene.sync.scratch.path("licence")
        let end = scene.sync.clock.now().advanced(byMicroseconds: 3_600_000_000)
        try SignedLicence.sign(Licence(product: product, holder: "Ann", validUntil: end), with: key).write(to: URL(fileURLWithPath: path))
        let file = LicenceFile(path: path, publicKey: key.publicKey, product: product)
        #expect(try file.licence().holder == "Ann" && file.licence().validUntil == end)
        #expect(try await closed(scene, file) == nil)
        scene.sync.clock.move(bySeconds: 3700)
        #expect(try await closed(scene, file)?.code == .entitlementExpired)
        // Once it is renewed, all goes on.
        try SignedLicence.sign(Licence(product: product, holder: "Ann"), with: key).write(to: URL(fileURLWithPath: path))
        #expect(try await closed(scene, file) == nil)
    }

    /// The answer that the database has kept is of no use: neither from an earlier licence nor written there by hand.
    @Test func whateverElseLiesInItsPlaceEntitlesNobody() async throws {
        let scene = try await GateScene(), scratch = scene.sync.scratch, path = scratch.path("licence")
        let good = try SignedLicence.sign(Licence(product: product, holder: "Ann"), with: key)
        let file = LicenceFile(path: path, publicKey: key.publicKey, product: product)
        func put(_ data: Data?) throws { try data?.write(to: URL(fileURLWithPath: path)) ?? FileManager.default.removeItem(atPath: path) }
        let later = Instant.now.advanced(byMicroseconds: 999_000_000_000_000)
        let text = String(decoding: good, as: UTF8.self)
        let payload = try StrictJSON.encode(Licence(product: product, holder: "Bob", validUntil: later)).base64EncodedString()
        let signed = try #require(text.firstMatch(of: /"licence":"([^"]+)"/)?.1)
        let forgeries: [(Data?, String)] = [
            (nil, "cannot be read"), (Data(), "not a licence file"), (Data(#"{"validUntil":"2999-01-01T00:00:00Z"}"#.utf8), "not a licence file"),
            (Data(text.replacing(signed, with: payload).utf8), "altered"),
            (try SignedLicence.sign(Licence(product: product, holder: "Ann"), with: LicenceKey()), "altered, or was not signed with the key"),
            (try SignedLicence.sign(Licence(product: "org.example.other", holder: "Ann"), with: key), "it is for org.example.other, not for \(product)"),
            (Data(text.replacing("\"formatVersion\":1", with: "\"formatVersion\":2").utf8), "format 2"),
            (Data(repeating: 0x20, count: 20_000), "not a licence file"),
        ]
        for (forgery, reason) in forgeries {
            try put(good)
            #expect(try await closed(scene, file) == nil)
            try put(forgery)
            let closed = try #require(try await closed(scene, file), "\(reason)")
            #expect(closed.code == .notEntitled && closed.reason.contains(path) && closed.reason.contains(reason), "\(closed.reason)")
        }
    }

    @Test func everyChangedByteIsFound() throws {
        let good = try SignedLicence.sign(Licence(product: product, holder: "Ann", issuedAt: try Instant(parsing: "2026-01-01T00:00:00Z")), with: key)
        #expect(try SignedLicence.open(good, publicKey: key.publicKey, product: product).holder == "Ann")
        for place in good.indices.dropLast() {
            var forged = good
            forged[place] ^= 1
            let error = #expect(throws: SyncError.self, "byte \(place)") { try SignedLicence.open(forged, publicKey: key.publicKey, product: product) }
            #expect(error?.identifier == "data.badLicence")
        }
        for size in [0, 1, good.count / 2, good.count - 3] {
            #expect(throws: SyncError.self) { try SignedLicence.open(good.prefix(size), publicKey: key.publicKey) }
        }
        for text in ["", "00", key.publicKey.uppercased(), String(repeating: "0", count: 64)] {
            #expect(throws: SyncError.self) { try SignedLicence.open(good, publicKey: text) }
        }
    }

    @Test func keyFileIsTheVendorsAlone() throws {
        let scratch = try ScratchDirectory(), path = scratch.path("vendor.key")
        try LicenceKeyFile.write(key, to: path)
        #expect(try LicenceKeyFile.read(path).publicKey == key.publicKey)
        #expect(throws: SyncError.self) { try LicenceKeyFile.write(LicenceKey(), to: path) }
        #expect(try LicenceKeyFile.read(path).publicKey == key.publicKey)
        #expect("\(key)".contains(key.publicKey) && !String(reflecting: key).contains(Hexadecimal.text(key.seed)))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        #expect((#expect(throws: SyncError.self) { try LicenceKeyFile.read(path) })?.code == .permissionDenied)
        try scratch.write("{}", to: "other.key")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: scratch.path("other.key"))
        #expect((#expect(throws: SyncError.self) { try LicenceKeyFile.read(scratch.path("other.key")) })?.code == .dataRefused)
    }
}
