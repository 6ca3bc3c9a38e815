import CloudStore
import DirectoryCloud
import Foundation
import Platform
import StrictText
import TestSupport
import Testing

/// The calls of POSIX keep what `openat2` keeps on Linux: no link is followed, and no path leaves the directory.
struct POSIXFileSystemTests {
    @Test(arguments: ["link", "folder/link", "linkedFolder/file", "../file", "folder/../file", "/file", ""])
    func aPathThatLeavesTheDirectoryOrFollowsALinkIsRefused(path: String) throws {
        let scratch = try ScratchDirectory()
        try scratch.write([1], to: "file")
        try scratch.write([1], to: "root/folder/file")
        for (link, target) in [("link", "../file"), ("folder/link", "file"), ("linkedFolder", "folder")] {
            try FileManager.default.createSymbolicLink(atPath: scratch.path("root/\(link)"), withDestinationPath: target)
        }
        for calls in [POSIXFileSystem(), LinuxFileSystem(), LinuxFileSystem(hasOpenat2: false)] as [any FileSystemCalls] {
            let root = try calls.openRoot("\(scratch.path)/root")
            #expect(throws: SystemFault.self, "\(type(of: calls))") { try calls.close(try calls.open(path, in: root, .read)) }
            // The directory itself is still open, and a plain path leads to its file.
            try calls.close(try calls.open("folder/file", in: root, .read))
            try calls.close(root)
        }
    }

    @Test func aCloudOfOneIsACloudOfTheOther() async throws {
        let scratch = try ScratchDirectory()
        let posix = try DirectoryCloud.create(at: scratch.path, container: "iCloud.org.example.test", calls: POSIXFileSystem())
        let system = try DirectoryCloud(path: scratch.path)
        _ = try await posix.createZone(.standard, creator: "writer", publishers: .many)
        let first = try await posix.publish(try await posix.prepare(draft("one"), after: nil, in: .standard))
        let second = try await system.publish(try await system.prepare(draft("two"), after: first, in: .standard))
        #expect(try await posix.changes(since: first, in: .standard).token == second)
        #expect(try await posix.records(in: .standard).records == system.records(in: .standard).records)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path("private/ZentikSyncZone/commits")).count == 2)
    }

    private func draft(_ name: String) -> CommitDraft {
        CommitDraft(device: "writer", saving: [CloudRecord(type: "Item", name: name, fields: ["n": .integer(1)])], clock: .now)
    }
}
