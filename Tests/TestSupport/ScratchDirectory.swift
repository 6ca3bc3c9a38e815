package import Foundation

/// A new directory for one test, removed when the last reference to it goes.
///
///     let scratch = try ScratchDirectory()
///     try scratch.write("{}", to: "cloud/cloud.json")
package final class ScratchDirectory: Sendable {
    /// The directory's absolute path.
    package let path: String

    /// - Parameter inMemory: takes a file system in memory, where there is one: for tests that make hundreds of files and are not
    ///   about a disk.
    package init(inMemory: Bool = false) throws {
        let memory = "/dev/shm"
        let above = inMemory && FileManager.default.isWritableFile(atPath: memory) ? memory : FileManager.default.temporaryDirectory.path
        path = "\(above)/snapsync-tests-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit {
        // Tests take permissions away; what is left behind would fill the temporary directory.
        for folder in (try? FileManager.default.subpathsOfDirectory(atPath: path)) ?? [] {
            try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: "\(path)/\(folder)")
        }
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The absolute path of something in the directory.
    package func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Whether something has that name.
    package func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }

    /// The bytes of a file.
    package func read(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path(name))) }

    /// Writes a file, and makes the folders above it.
    package func write(_ bytes: Data, to name: String) throws {
        let url = URL(fileURLWithPath: path(name))
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try bytes.write(to: url)
    }

    /// Writes a text file, and makes the folders above it.
    package func write(_ text: String, to name: String) throws { try write(Data(text.utf8), to: name) }

    /// Copies a file or a folder, from anywhere, into the directory.
    package func copy(_ source: String, to name: String) throws { try FileManager.default.copyItem(atPath: source, toPath: path(name)) }
}

extension FileManager {
    /// Sets a file's modification time to a whole second in the past.
    ///
    /// Foundation rounds the last half microsecond of a second up to a million of them, which the system refuses (EINVAL): one time of a million.
    package func setModification(secondsAgo seconds: Double, ofItemAtPath path: String) throws {
        let date = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 - seconds).rounded(.down))
        try setAttributes([.modificationDate: date], ofItemAtPath: path)
    }
}
