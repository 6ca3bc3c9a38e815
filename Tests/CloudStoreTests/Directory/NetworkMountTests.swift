@testable import CloudStore
@testable import DirectoryCloud
import Foundation
import Glibc
import StrictText
import TestSupport
import Testing

/// What network mounts need beyond what local file systems do.
@Suite struct NetworkMountTests {
    private func start() async throws -> (DirectoryUnderTest, ChangeToken) {
        let test = try DirectoryUnderTest(inMemory: true)
        try await test.zone()
        return (test, try await test.save(0, after: nil))
    }

    /// NFS remembers that a name was not there until it looks at the directory again, which opening it by name makes it do.
    @Test(arguments: [false, true]) func commitsAreOpenedAnewBeforeALookOnlyWhereOtherMachinesWrite(isRemote: Bool) async throws {
        let (test, token) = try await start()
        let calls = FaultyFileSystem(isRemote: isRemote)
        let cloud = try DirectoryCloud(path: test.scratch.path, expecting: nil, calls: calls, nonces: .system)
        for round in 1...2 {
            let before = calls.calls.count
            #expect(try await cloud.changes(since: token, in: .standard).commits.isEmpty)
            let names = calls.calls[before...].map { "\($0.name) \($0.target)" }
            let probe = try #require(names.firstIndex(of: "open \(DirectoryUnderTest.zonePath)/commits/\(twentyDigits(2)).json"), "\(round): \(names)")
            let opening = names.firstIndex(of: "opendir \(DirectoryUnderTest.zonePath)/commits")
            #expect(isRemote ? opening.map { $0 < probe } == true : opening == nil, "\(round): \(names)")
        }
        #expect(calls.openCount == 0)
    }

    @Test func kernelTypesDecideWhatIsRemote() throws {
        let scratch = try ScratchDirectory(inMemory: true)
        let descriptor = open(scratch.path, O_RDONLY | O_DIRECTORY)
        defer { close(descriptor) }
        #expect(!LinuxFileSystem().isRemote(descriptor))
        // What cannot be told counts as remote.
        #expect(LinuxFileSystem().isRemote(-1))
    }

    @Test func mountOptionsAreThoseOfTheLastMountOfTheDevice() {
        let table = """
            22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
            36 22 0:45 / /mnt/old ro shared:9 - nfs4 server:/ rw,vers=4.2,lookupcache=pos
            40 22 0:45 / /mnt/share rw,relatime shared:7 master:2 - nfs4 server:/srv rw,vers=4.2,acdirmin=30
            damaged line
            """
        #expect(FileSystemFacts.mountOptions(inTable: table, device: "0:45") == ["rw", "relatime", "rw", "vers=4.2", "acdirmin=30"])
        #expect(FileSystemFacts.mountOptions(inTable: table, device: "8:1").contains("errors=remount-ro"))
        #expect(FileSystemFacts.mountOptions(inTable: table, device: "9:9") == [])
    }

    @Test func onlyNFSThatCachesMissingNamesIsToldOf() throws {
        for (name, options, remembers) in [
            ("NFS", ["rw", "vers=4.2"], true), ("NFS", ["rw", "lookupcache=pos"], false), ("NFS", ["lookupcache=none"], false), ("NFS", ["noac"], false),
            ("NFS", [], false), ("ext4", ["rw"], false),
        ] { #expect(FileSystemFacts(name: name, mountOptions: options).remembersAbsence == remembers, "\(name) \(options)") }
    }

    /// SMB refuses to remove a folder while it or a file in it is open.
    @Test func probeClosesWhatItRemoves() async throws {
        let (test, _) = try await start()
        let calls = FaultyFileSystem()
        let cloud = try DirectoryCloud(path: test.scratch.path, expecting: nil, calls: calls, nonces: .system)
        #expect(try await cloud.probe(.standard).canPublish)
        let names = calls.calls.map { "\($0.name) \($0.target)" }
        let folder = try #require(calls.calls.first { $0.name == "mkdir" && $0.target.hasPrefix(".snapsync-doctor-") }).target
        let file = try #require(names.lastIndex(of: "unlink probe")), removal = try #require(names.lastIndex(of: "rmdir \(folder)"))
        #expect(names[..<file].lastIndex(of: "close probe") ?? -1 > names.lastIndex(of: "create probe") ?? .max)
        #expect(names[..<removal].contains("close \(folder)") && file < removal)
        // Nor is the file opened under its other spelling, which the client would keep open beyond the removal.
        #expect(!names.contains { $0.hasPrefix("open ") && $0.lowercased().hasSuffix(" probe") }, "\(names)")
        #expect(try test.scratch.tree().filter { $0.contains("doctor") } == [])
    }

    @Test(arguments: [true, false]) func probeTellsWhetherTheCaseOfLettersCounts(isCaseSensitive: Bool) async throws {
        let (test, _) = try await start()
        let calls = FaultyFileSystem { !isCaseSensitive && $0.name == "create" && $0.target == "PROBE" ? .refused(EEXIST) : nil }
        let cloud = try DirectoryCloud(path: test.scratch.path, expecting: nil, calls: calls, nonces: .system)
        #expect(try await cloud.probe(.standard).isCaseSensitive == isCaseSensitive)
        #expect(try test.scratch.tree().filter { $0.contains("doctor") } == [] && calls.openCount == 0)
    }

    /// Some mounts answer EIO to a link that they cannot make, and SMB answers EACCES for a share on FAT.
    @Test(arguments: [EIO, EACCES]) func mountWhoseLinksFailIsUsedByRenameOrRefusedWithEachReason(_ number: Int32) async throws {
        let above = try ScratchDirectory()
        let path = above.path + "/cloud"
        func calls(_ names: Set<String>) -> FaultyFileSystem {
            FaultyFileSystem { names.contains($0.name) ? .refused($0.name == "createNameless" ? EOPNOTSUPP : number) : nil }
        }
        let error = await expectCloudError(number == EIO ? .inputOutput : .permissionFailure) {
            try DirectoryCloud.create(at: path, container: "iCloud.org.example.test", calls: calls(["createNameless", "link", "rename"]), nonces: .system)
        }
        let words = String(cString: strerror(number))
        if number == EIO {
            #expect(error?.reason.contains("can neither link a file nor rename it without replacing another") == true)
            #expect(error?.reason.contains("; link: \(words); rename without replacing: \(words)") == true, "\(error?.reason ?? "")")
        } else {
            #expect(error?.reason == "rename: \(words)")
        }
        // Who is refused has changed nothing.
        #expect(!FileManager.default.fileExists(atPath: path))
        _ = try DirectoryCloud.create(at: path, container: "iCloud.org.example.test", calls: calls(["createNameless", "link"]), nonces: .system)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["cloud.json"])
    }

    @Test func refusedCreationKeepsADirectoryThatWasThere() async throws {
        let scratch = try ScratchDirectory()
        let unfit = FaultyFileSystem { ["createNameless", "link", "rename"].contains($0.name) ? .refused(EIO) : nil }
        await expectCloudError(.inputOutput) {
            try DirectoryCloud.create(at: scratch.path, container: "iCloud.org.example.test", calls: unfit, nonces: .system)
        }
        #expect(FileManager.default.fileExists(atPath: scratch.path))
        #expect(try scratch.tree().isEmpty)
    }
}
