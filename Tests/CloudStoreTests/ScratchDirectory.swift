import Foundation
import Glibc

/// A directory of its own for one test, removed with everything in it when the test lets go of it.
final class ScratchDirectory: Sendable {
    let path: String

    /// - Parameter inMemory: takes a file system in memory, where there is one: for tests that make hundreds of clouds and are
    ///   not about a disk.
    init(inMemory: Bool = false) throws {
        let memory = "/dev/shm"
        let above = inMemory && access(memory, W_OK) == 0 ? URL(fileURLWithPath: memory) : FileManager.default.temporaryDirectory
        path = above.appendingPathComponent("cloudstore-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)")))
    }

    /// Writes a file as a stranger would: over whatever is there.
    func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
    }

    func remove(_ name: String) throws {
        try FileManager.default.removeItem(atPath: "\(path)/\(name)")
    }

    func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(path)/\(name)")
    }

    /// The paths of all files and directories beneath, in order.
    func tree() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: path).sorted()
    }
}
