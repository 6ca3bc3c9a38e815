import CloudStore
import DirectoryCloud
import Foundation
import Glibc
import StrictText
import TestSupport
import Testing

/// A file system of 1 MiB for one test; made only by root.
private final class TinyDisk {
    let scratch: ScratchDirectory
    static let canMount =
        geteuid() == 0
        && {
            guard let disk = try? TinyDisk() else { return false }
            return disk.isMounted
        }()

    private(set) var isMounted = false

    init() throws {
        scratch = try ScratchDirectory()
        isMounted = mount("tmpfs", scratch.path, "tmpfs", 0, "size=1m") == 0
    }

    /// Takes away the right to write, or gives it back.
    func remount(readOnly: Bool) -> Bool { mount("tmpfs", scratch.path, "tmpfs", UInt(MS_REMOUNT) | (readOnly ? UInt(MS_RDONLY) : 0), "size=1m") == 0 }

    deinit { if isMounted { umount(scratch.path) } }
}

/// A disk that is really full.
@Suite(.serialized) struct FullDiskTests {
    @Test(.enabled(if: TinyDisk.canMount, "only root can mount a small file system"))
    func aFullDiskRefusesTheAssetAndKeepsTheOldVersion() async throws {
        let disk = try TinyDisk()
        try #require(disk.isMounted)
        let cloud = try DirectoryCloud.create(at: disk.scratch.path, container: "iCloud.org.example.test")
        _ = try await cloud.createZone(.standard, creator: "writer", publishers: .one)
        let record = CloudRecord(type: "Item", name: "item", fields: ["count": .integer(1)])
        let token = try await cloud.publish(
            try await cloud.prepare(CommitDraft(device: "writer", saving: [record], clock: .now), after: nil, in: .standard))
        let tree = try disk.scratch.tree()

        let block = [UInt8](repeating: 1, count: 256 << 10)
        await expectCloudError(.quotaExceeded) {
            let writer = try await cloud.newAsset(for: "item", number: 2, kind: .snapshot, in: .standard)
            for _ in 0..<8 { try block.withUnsafeBytes { try writer.write($0) } }
            _ = try writer.finish(rawByteCount: 0)
        }
        #expect(try disk.scratch.tree().filter { $0 != "\(DirectoryUnderTest.zonePath)/assets/item" } == tree)
        #expect(try await cloud.records(in: .standard).token == token)

        // The commit itself does not fit: fill the disk to the last byte first.
        let filler = open("\(disk.scratch.path)/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        while block.withUnsafeBytes({ write(filler, $0.baseAddress, 4096) }) > 0 {}
        close(filler)
        let commit = try await cloud.prepare(CommitDraft(device: "writer", saving: [record], clock: .now), after: token, in: .standard)
        await expectCloudError(.quotaExceeded) { try await cloud.publish(commit) }
        #expect(try await cloud.records(in: .standard).token == token)
        unlink("\(disk.scratch.path)/filler")
        #expect(try await cloud.publish(commit).number == 2)
    }

    @Test(.enabled(if: TinyDisk.canMount, "only root can mount a small file system"))
    func aReadOnlyMountIsReadAndNotPublishedTo() async throws {
        let disk = try TinyDisk()
        try #require(disk.isMounted)
        let cloud = try DirectoryCloud.create(at: disk.scratch.path, container: "iCloud.org.example.test")
        _ = try await cloud.createZone(.standard, creator: "writer", publishers: .one)
        let draft = CommitDraft(device: "writer", saving: [CloudRecord(type: "Item", name: "item", fields: [:])], clock: .now)
        let token = try await cloud.publish(try await cloud.prepare(draft, after: nil, in: .standard))
        let next = try await cloud.prepare(draft, after: token, in: .standard)
        try #require(disk.remount(readOnly: true))
        let tree = try disk.scratch.tree()
        await expectCloudError(.permissionFailure) { try await cloud.publish(next) }
        await expectCloudError(.permissionFailure) { try await cloud.newAsset(for: "item", number: 2, kind: .snapshot, in: .standard).finish(rawByteCount: 0) }
        await expectCloudError(.permissionFailure) { try DirectoryCloud.create(at: "\(disk.scratch.path)/new", container: "iCloud.a.b") }
        #expect(try await cloud.changes(since: nil, in: .standard).token == token)
        #expect(try disk.scratch.tree() == tree)
        try #require(disk.remount(readOnly: false))
        #expect(try await cloud.publish(next).number == 2)
    }
}
