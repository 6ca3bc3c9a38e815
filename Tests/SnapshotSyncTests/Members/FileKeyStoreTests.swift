import CloudStore
import Foundation
import Synchronization
import TestSupport
import Testing

/// Keys that are in place are never replaced: without them the device could not write to its zone any more.
struct FileKeyStoreTests {
    private let owner = KeyOwner(cloud: "2f1c7a52-6f0e-4c0b-9d0e-1b7f2f5d8a11", zone: .standard, device: "desk")

    @Test func oneOfManyStoresWins() throws {
        let scratch = try ScratchDirectory()
        let store = FileKeyStore(environment: { [folder = scratch.path("data")] in $0 == "XDG_DATA_HOME" ? folder : nil })
        let candidates = (0..<8).map { _ in DeviceKeys() }
        let stored = Mutex<[DevicePublicKeys]>([])
        DispatchQueue.concurrentPerform(iterations: candidates.count) { number in
            if (try? store.store(candidates[number], of: owner)) != nil { stored.withLock { $0.append(candidates[number].publicKeys) } }
        }
        let kept = try #require(try store.keys(of: owner)).publicKeys
        #expect(stored.withLock { $0 } == [kept])

        let place = store.place(of: owner)
        let folder = URL(fileURLWithPath: place).deletingLastPathComponent().path
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["desk.json"])
        #expect(try FileManager.default.attributesOfItem(atPath: place)[.posixPermissions] as? Int == 0o600)
        #expect(try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions] as? Int == 0o700)
        let error = #expect(throws: CloudError.self) { try store.store(DeviceKeys(), of: owner) }
        #expect(error?.code == .keyUnavailable)
        #expect(try store.keys(of: owner)?.publicKeys == kept)
    }
}
