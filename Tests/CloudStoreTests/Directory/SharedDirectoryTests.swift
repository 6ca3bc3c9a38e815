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

    /// Makes a directory of that mode, and a cloud in it; by default the cloud makes its directory.
    private func cloud(_ scratch: ScratchDirectory, mode: mode_t? = nil) throws -> DirectoryCloud {
        if let mode { try #require(mkdir("\(scratch.path)/cloud", 0o700) == 0 && chmod("\(scratch.path)/cloud", mode) == 0) }
        return try DirectoryCloud.create(at: "\(scratch.path)/cloud", container: "iCloud.a.b")
    }

    @Test(arguments: [(nil, 0o700, 0o600), (0o700, 0o700, 0o600), (0o2770, 0o2770, 0o640), (0o2775, 0o2775, 0o644)] as [(mode_t?, mode_t, mode_t)])
    func everythingMadeHasTheRightsThatTheDirectoryWasGiven(above: mode_t?, folders: mode_t, files: mode_t) async throws {
        let scratch = try ScratchDirectory()
        try await fill(try cloud(scratch, mode: above))
        let found = try modes(scratch, "cloud")
        #expect(found.folders == [folders], "\(found.folders.map { String($0, radix: 8) })")
        #expect(found.files == [files], "\(found.files.map { String($0, radix: 8) })")
    }

    @Test func aNewDirectoryIsItsOwnersAloneAlsoInASharedOne() throws {
        let scratch = try ScratchDirectory()
        #expect(chmod(scratch.path, 0o2775) == 0)
        _ = try cloud(scratch)
        #expect(try mode("\(scratch.path)/cloud") == 0o700)
    }

    @Test func aDirectoryThatIsThereKeepsItsModeAndIsNotTakenAsShared() async throws {
        let scratch = try ScratchDirectory()
        #expect(mkdir("\(scratch.path)/cloud", 0o755) == 0 && chmod("\(scratch.path)/cloud", 0o775) == 0)
        try await fill(try DirectoryCloud.create(at: "\(scratch.path)/cloud", container: "iCloud.a.b"))
        #expect(try mode("\(scratch.path)/cloud") == 0o775)
        #expect(try mode("\(scratch.path)/cloud/private") == 0o700 && mode("\(scratch.path)/cloud/cloud.json") == 0o600)
    }

    @Test func aFolderOfAKilledRunIsSharedByTheNext() async throws {
        let scratch = try ScratchDirectory()
        let cloud = try cloud(scratch, mode: 0o2770)
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
