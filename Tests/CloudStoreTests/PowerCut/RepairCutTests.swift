import CloudStore
import DirectoryCloud
import Foundation
import SnapshotModel
import TestSupport
import Testing

/// A repair that ends anywhere, by a power cut, leaves the damaged file, none, or the whole one; and never loses the damaged bytes.
@Suite struct RepairCutTests {
    /// Of any asset, index or commit of a zone of three versions; without `make torture` of one file.
    @Test(arguments: SimulatedFileSystem.Kind.allCases)
    func aRepairThatIsCutShortIsDoneByTheNext(_ kind: SimulatedFileSystem.Kind) async throws {
        let before = CloudScript(SimulatedFileSystem(kind: kind), seed: 7)
        try await before.create()
        for _ in 1...3 { try await before.publish() }
        let files = before.disk.image.files.filter { $0.contains("/assets/") || $0.contains("/commits/") }.sorted()
        #expect(files.count == 12)
        for path in Sample.isWhole ? files : [files[0]] { try await cutRepairs(of: path, before, kind) }
    }

    private func cutRepairs(of path: String, _ before: CloudScript, _ kind: SimulatedFileSystem.Kind) async throws {
        let whole = try #require(before.disk.image.bytes(path))
        var image = before.disk.image
        image.damage(path) { $0[5] ^= 1 }
        let damaged = try #require(image.bytes(path)), name = String(path.dropFirst(CloudScript.zonePath.count + 1))

        func repair(_ disk: SimulatedFileSystem) async throws -> RepairedFile? {
            let cloud = try DirectoryCloud(path: CloudScript.path, expecting: nil, calls: disk, nonces: .system)
            return try await cloud.replaceFile(name, byteCount: whole.count, sha256: ContentHash.of(whole), in: .standard, dryRun: false) { append in
                try whole.withUnsafeBytes { try append($0) }
                return true
            }
        }
        let disk = SimulatedFileSystem(image, kind: kind)
        #expect(try await repair(disk)?.setAside?.hasPrefix("\(name).damaged-") == true)
        let cut = PowerCut(base: image, operations: disk.operations, limit: Sample.isWhole ? 4096 : 40)
        var random = SeededGenerator(seed: 7)
        var seen: Set<Int> = []
        var states = 0
        for count in 0...disk.operations.count {
            var images: [DiskImage] = []
            states += cut.states(after: count, random: &random) { if seen.insert($0.fingerprint).inserted { images.append($0) } }.count
            for image in images {
                let found = image.bytes(path)
                #expect(found == nil || found == damaged || found == whole, "\(name), after operation \(count)")
                let aside = image.files.filter { $0.hasPrefix(path + ".damaged-") }
                #expect(found == damaged || aside.contains { image.bytes($0) == damaged }, "\(name), after operation \(count): the damaged bytes are gone")
                #expect(CloudChecker(image: image).problems(before.promise).isEmpty == (found == whole), "\(name), after operation \(count)")
                let next = SimulatedFileSystem(image, kind: kind)
                _ = try await repair(next)
                let durable = PowerCut(base: image, operations: next.operations).split(after: next.operations.count).durable
                #expect(CloudChecker(image: durable).problems(before.promise) == [] && next.openCount == 0, "\(name), after operation \(count)")
            }
        }
        #expect(cut.split(after: disk.operations.count).durable.bytes(path) == whole)
        print("power cut of a repair: \(name), \(kind.rawValue): \(disk.operations.count) operations, \(states) states, \(seen.count) different, 0 lost")
    }

    /// Bytes that are not those that the commit names change nothing.
    @Test func otherBytesReplaceNothing() async throws {
        let script = CloudScript(SimulatedFileSystem(), seed: 8)
        try await script.create()
        try await script.publish()
        let asset = try #require(try await script.cloud().records(in: .standard).records.flatMap(\.assets).first)
        let before = script.disk.image
        for bytes in [[UInt8](), [UInt8](repeating: 0, count: asset.byteCount)] {
            for isDone in [true, false] {
                let done = try await script.cloud().replaceFile(asset.path, byteCount: asset.byteCount, sha256: asset.sha256, in: .standard, dryRun: false) {
                    append in
                    try bytes.withUnsafeBytes { try append($0) }
                    return isDone
                }
                #expect(done == nil && script.disk.image.fingerprint == before.fingerprint)
            }
        }
    }
}
