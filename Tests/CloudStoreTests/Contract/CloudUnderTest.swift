import CloudStore
import CommitLog
import DirectoryCloud
import Foundation
import Glibc
import StrictText
import TestSupport

/// A cloud that the contract suite runs against, and the damage that the suite does to it.
protocol CloudUnderTest: Sendable {
    var cloud: any CloudDatabase { get }
    /// Changes a commit's bytes; nil takes it away.
    func damageCommit(_ number: Int, _ change: (inout [UInt8]?) -> Void) throws
    func damageCheckpoint(_ number: Int, _ change: (inout [UInt8]?) -> Void) throws
    /// Changes the bytes of an asset or index, named by its path beneath the zone.
    func damageAsset(_ path: String, _ change: (inout [UInt8]?) -> Void) throws
    /// Changes the bytes of a sender's message, by its file's name; nil takes it away.
    func damageMessage(_ name: String, of sender: String, _ change: (inout [UInt8]?) -> Void) throws
}

/// The backends that must pass the suite.
enum Backend: String, CaseIterable, Sendable {
    case memory, directory
    /// A directory on a file system without nameless files, one without hard links too, and a kernel without openat2.
    case directoryWithNames, directoryWithoutLinks, directoryStepByStep
    /// A directory reached by the calls of POSIX alone, as on a system without Linux's own.
    case directoryPOSIX

    /// For tests that damage a file in thousands of places.
    static let thorough: [Backend] = [.memory, .directory]
    /// Of those places, memory tries each and a directory, which takes longer, one in so many.
    var stride: Int { self == .memory ? 1 : 9 }

    func make() throws -> any CloudUnderTest {
        switch self {
        case .memory: MemoryUnderTest()
        case .directory: try DirectoryUnderTest()
        case .directoryWithNames:
            try DirectoryUnderTest(calls: FaultyFileSystem { $0.name == "createNameless" ? .refused(EOPNOTSUPP) : nil })
        case .directoryWithoutLinks:
            try DirectoryUnderTest(calls: FaultyFileSystem { $0.name == "createNameless" || $0.name == "link" ? .refused(EPERM) : nil })
        case .directoryStepByStep: try DirectoryUnderTest(calls: LinuxFileSystem(hasOpenat2: false))
        case .directoryPOSIX: try DirectoryUnderTest(calls: POSIXFileSystem())
        }
    }
}

struct MemoryUnderTest: CloudUnderTest {
    let memory = MemoryCloudDatabase(container: "iCloud.org.example.test")
    var cloud: any CloudDatabase { memory }

    func damageCommit(_ number: Int, _ change: (inout [UInt8]?) -> Void) throws {
        try memory.damageCommit(number, in: .standard, change)
    }

    func damageCheckpoint(_ number: Int, _ change: (inout [UInt8]?) -> Void) throws {
        try memory.damageCheckpoint(number, in: .standard, change)
    }

    func damageAsset(_ path: String, _ change: (inout [UInt8]?) -> Void) throws {
        try memory.damageAsset(path, in: .standard, change)
    }

    func damageMessage(_ name: String, of sender: String, _ change: (inout [UInt8]?) -> Void) throws {
        try memory.damageMessage(name, of: sender, in: .standard, change)
    }
}

struct DirectoryUnderTest: CloudUnderTest {
    let scratch: ScratchDirectory
    let directory: DirectoryCloud
    var cloud: any CloudDatabase { directory }

    static let zonePath = "private/ZentikSyncZone"

    init(calls: any FileSystemCalls = systemFileCalls, inMemory: Bool = false) throws {
        scratch = try ScratchDirectory(inMemory: inMemory)
        directory = try DirectoryCloud.create(at: scratch.path, container: "iCloud.org.example.test", calls: calls, nonces: .system)
    }

    func damageCommit(_ number: Int, _ change: (inout [UInt8]?) -> Void) throws {
        try damage("commits/\(twentyDigits(number)).json", change)
    }

    func damageCheckpoint(_ number: Int, _ change: (inout [UInt8]?) -> Void) throws {
        try damage("checkpoints/\(twentyDigits(number)).json", change)
    }

    func damageAsset(_ path: String, _ change: (inout [UInt8]?) -> Void) throws {
        try damage(path, change)
    }

    func damageMessage(_ name: String, of sender: String, _ change: (inout [UInt8]?) -> Void) throws {
        try damage("messages/\(sender)/\(name)", change)
    }

    private func damage(_ path: String, _ change: (inout [UInt8]?) -> Void) throws {
        let path = "\(Self.zonePath)/\(path)"
        let before = scratch.exists(path) ? try scratch.bytes(path) : nil
        var after = before
        change(&after)
        if after == before { return }
        guard let after else { return try scratch.remove(path) }
        try scratch.write(after, to: path)
        // A beginning of a file that is young would count as still arriving.
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -3600)], ofItemAtPath: "\(scratch.path)/\(path)")
    }
}

/// Written out here again, so that the tests do not believe the code's own idea of a name.
func twentyDigits(_ number: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: 20 - text.count) + text
}
