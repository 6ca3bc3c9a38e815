import CloudStore
import DirectoryCloud
import Foundation
import Glibc
import StrictText
import TestSupport
import Testing

/// Who may use the files: nobody but their owner, or whom the directory's own mode says.
@Suite struct SharedDirectoryTests {
    private func mode(_ path: String) throws -> mode_t {
        var info = stat()
        guard lstat(path, &info) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return info.st_mode & 0o7777
    }

    /// The modes of all directories and of all files, beneath a directory and its own.
    private func modes(_ scratch: ScratchDirectory, _ name: String) throws -> (folders: Set<mode_t>, files: Set<mode_t>) {
        var folders: Set<mode_t> = [try mode("\(scratch.path)/\(name)")], files: Set<mode_t> = []
        for path in try scratch.tree() where path.hasPrefix(name + "/") {
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: "\(scratch.path)/\(path)", isDirectory: &isFolder)
            if isFolder.boolValue { folders.insert(try mode("\(scratch.path)/\(path)")) } else { files.insert(try mode("\(scratch.path)/\(path)")) }
        }
        return (folders, files)
    }

    /// A commit with an asset, a message and a report.
    private func fill(_ cloud: DirectoryCloud) async throws {
        let test = Opened(directory: cloud)
        try await test.zone()
        try await test.save(try await test.asset([1, 2, 3], index: [4]))
        try await cloud.report(DeviceReport(device: "watch", role: "reader", token: nil, clock: .now), in: .standard)
        try await cloud.send(CloudMessage(id: CloudMessage.newID(at: .now), sender: "watch", body: Data("{}".utf8)), clock: .now, in: .standard)
    }

    @Test(
        arguments: [
            (DirectorySharing?.none, 0o700, 0o600), (.owner, 0o700, 0o600), (.group, 0o2770, 0o640), (.all, 0o2775, 0o644),
        ] as [(DirectorySharing?, mode_t, mode_t)])
    func everythingMadeHasTheRightsThatTheDirectoryWasGiven(sharing: DirectorySharing?, folders: mode_t, files: mode_t) async throws {
        let scratch = try ScratchDirectory()
        let cloud =
            try sharing.map { try DirectoryCloud.create(at: "\(scratch.path)/cloud", container: "iCloud.a.b", sharing: $0) }
            ?? DirectoryCloud.create(at: "\(scratch.path)/cloud", container: "iCloud.a.b")
        try await fill(cloud)
        let found = try modes(scratch, "cloud")
        #expect(found.folders == [folders], "\(found.folders.map { String($0, radix: 8) })")
        #expect(found.files == [files], "\(found.files.map { String($0, radix: 8) })")
    }

    @Test func aDirectoryThatIsThereKeepsItsModeAndIsNotTakenAsShared() async throws {
        let scratch = try ScratchDirectory()
        #expect(mkdir("\(scratch.path)/cloud", 0o755) == 0 && chmod("\(scratch.path)/cloud", 0o775) == 0)
        try await fill(try DirectoryCloud.create(at: "\(scratch.path)/cloud", container: "iCloud.a.b"))
        #expect(try mode("\(scratch.path)/cloud") == 0o775)
        #expect(try mode("\(scratch.path)/cloud/private") == 0o700 && mode("\(scratch.path)/cloud/cloud.json") == 0o600)
    }

    @Test func aCloudThatIsThereIsSharedWholeAndNoLinkInItIsFollowed() async throws {
        let scratch = try ScratchDirectory()
        try await fill(try DirectoryCloud.create(at: "\(scratch.path)/cloud", container: "iCloud.a.b"))
        try scratch.write([1], to: "mine")
        #expect(chmod("\(scratch.path)/mine", 0o600) == 0 && mkdir("\(scratch.path)/folder", 0o700) == 0)
        #expect(symlink("\(scratch.path)/mine", "\(scratch.path)/cloud/private/file") == 0)
        #expect(symlink("\(scratch.path)/folder", "\(scratch.path)/cloud/private/folder") == 0)
        _ = try DirectoryCloud.create(at: "\(scratch.path)/cloud", container: "iCloud.a.b", sharing: .group)
        #expect(try mode("\(scratch.path)/mine") == 0o600 && mode("\(scratch.path)/folder") == 0o700)
        for name in ["file", "folder"] { try scratch.remove("cloud/private/\(name)") }
        let shared = try modes(scratch, "cloud")
        #expect(shared.folders == [0o2770] && shared.files == [0o640])
        // And back.
        _ = try DirectoryCloud.create(at: "\(scratch.path)/cloud", container: "iCloud.a.b", sharing: .owner)
        let own = try modes(scratch, "cloud")
        #expect(own.folders == [0o700] && own.files == [0o600])
    }

    @Test func aDirectoryWithOtherFilesIsNotTouched() async throws {
        let scratch = try ScratchDirectory()
        #expect(mkdir("\(scratch.path)/cloud", 0o700) == 0)
        try scratch.write([1], to: "cloud/holiday.txt")
        #expect(chmod("\(scratch.path)/cloud/holiday.txt", 0o600) == 0)
        await expectCloudError(.notACloud) { try DirectoryCloud.create(at: "\(scratch.path)/cloud", container: "iCloud.a.b", sharing: .all) }
        #expect(try mode("\(scratch.path)/cloud") == 0o700 && mode("\(scratch.path)/cloud/holiday.txt") == 0o600)
    }

    @Test func aFolderOfAKilledRunIsSharedByTheNext() async throws {
        let scratch = try ScratchDirectory()
        let cloud = try DirectoryCloud.create(at: "\(scratch.path)/cloud", container: "iCloud.a.b", sharing: .group)
        // Made, and not yet given its rights.
        #expect(mkdir("\(scratch.path)/cloud/private", 0o700) == 0)
        try await fill(cloud)
        #expect(try mode("\(scratch.path)/cloud/private") == 0o2770)
    }
}

/// A cloud that was opened elsewhere, with the acts of the other tests.
private struct Opened: CloudUnderTest {
    let directory: DirectoryCloud
    var cloud: CloudDatabase { directory }

    func damage(_ path: String, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) throws {}
}
