import CloudStore
import CloudContract
import DirectoryCloud
import Foundation
import Glibc
import StrictText
import TestSupport

/// A cloud that tests run against, and short forms of the damage that they do to its standard zone.
protocol CloudUnderTest: DamageableCloud {
    var cloud: CloudDatabase { get }
}

extension CloudUnderTest {
    var damageStride: Int { 1 }

    /// Changes a commit's bytes; nil takes it away.
    func damageCommit(_ number: Int, _ change: (inout [UInt8]?) -> Void) throws { try damage("commits/\(twentyDigits(number)).json", in: .standard, change) }

    /// Changes the bytes of an asset or index, named by its path beneath the zone.
    func damageAsset(_ path: String, _ change: (inout [UInt8]?) -> Void) throws { try damage(path, in: .standard, change) }
}

/// The backends that must pass the suite.
enum Backend: String, CaseIterable, Sendable {
    case memory, directory
    /// A directory on a file system without nameless files, one without hard links too, and a kernel without openat2.
    case directoryWithNames, directoryWithoutLinks, directoryStepByStep
    /// A directory reached by the calls of POSIX alone, as on a system without Linux's own.
    case directoryPOSIX

    /// - Parameter inMemory: a directory on a file system in memory, where there is one.
    func make(inMemory: Bool = false) throws -> any CloudUnderTest {
        switch self {
        case .memory: MemoryUnderTest()
        case .directory: try DirectoryUnderTest(inMemory: inMemory)
        case .directoryWithNames:
            try DirectoryUnderTest(calls: FaultyFileSystem { $0.name == "createNameless" ? .refused(EOPNOTSUPP) : nil }, inMemory: inMemory)
        case .directoryWithoutLinks:
            try DirectoryUnderTest(
                calls: FaultyFileSystem { $0.name == "createNameless" || $0.name == "link" ? .refused(EPERM) : nil }, inMemory: inMemory)
        case .directoryStepByStep: try DirectoryUnderTest(calls: LinuxFileSystem(hasOpenat2: false), inMemory: inMemory)
        case .directoryPOSIX: try DirectoryUnderTest(calls: POSIXFileSystem(), inMemory: inMemory)
        }
    }
}

struct MemoryUnderTest: CloudUnderTest {
    let memory = MemoryCloudDatabase(container: "iCloud.org.example.test")
    var cloud: CloudDatabase { memory }

    func damage(_ path: String, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) throws { memory.damage(path, in: zone, change) }
}

struct DirectoryUnderTest: CloudUnderTest {
    let scratch: ScratchDirectory
    let directory: DirectoryCloud
    var cloud: CloudDatabase { directory }

    static let zonePath = "private/ZentikSyncZone"

    init(calls: any FileSystemCalls = systemFileCalls, inMemory: Bool = false) throws {
        scratch = try ScratchDirectory(inMemory: inMemory)
        directory = try DirectoryCloud.create(at: scratch.path, container: "iCloud.org.example.test", calls: calls, nonces: .system)
    }

    /// A directory takes longer than memory.
    var damageStride: Int { 9 }

    func damage(_ path: String, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) throws {
        let path = "\(zone)/\(path)"
        let before = scratch.exists(path) ? try scratch.bytes(path) : nil
        var after = before
        change(&after)
        if after == before { return }
        guard let after else { return try scratch.remove(path) }
        try scratch.write(after, to: path)
        // A beginning of a file that is young would count as still arriving.
        try FileManager.default.setModification(secondsAgo: 3600, ofItemAtPath: "\(scratch.path)/\(path)")
    }
}

/// Written out here again, so that the tests do not believe the code's own idea of a name.
func twentyDigits(_ number: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: 20 - text.count) + text
}
