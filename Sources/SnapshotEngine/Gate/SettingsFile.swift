import Foundation
import Platform
import SnapshotVersions
import StrictText

/// A small file of an application. It is read whole and replaced whole and durably. If the application writes it meanwhile, nothing of that is
/// lost.
struct SettingsFile: Sendable {
    let path: String

    /// The file's bytes; nil if there is none.
    func contents() throws -> Data? {
        if let data = FileManager.default.contents(atPath: path) { return data }
        var facts = stat()
        let number = stat(path, &facts) == 0 ? 0 : errno
        guard number == ENOENT else { throw fault(number, "it cannot be read", "check that it is a file, and its mode") }
        return nil
    }

    /// Replaces the file by what `body` makes of its bytes; nil leaves the file as it is. `body` is called again if another program has written
    /// meanwhile.
    func edit(_ body: (Data?) throws -> Data?) throws {
        // If the path is a symbolic link, replace its target and keep the link.
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        removeLeftovers(of: target)
        for _ in 0..<5 {
            let before = Self.facts(target)
            guard let edited = try body(contents()) else { return }
            if try replace(target, by: edited, unlessOtherThan: before) { return }
        }
        throw SyncError(.tryAgainLater, step: .store, at: path, "another program writes it without a pause", hint: "run the same command again")
    }

    private func replace(_ target: String, by data: Data, unlessOtherThan before: stat?) throws -> Bool {
        let temporary = target + Self.mark + String(UInt64.random(in: 0 ... .max))
        do {
            return try data.withUnsafeBytes {
                try FileReplacement.replace(target, by: $0, through: temporary, mode: 0o600, like: before == nil ? nil : target) {
                    Self.isSame(before, Self.facts(target))
                }
            }
        } catch let fault as SystemFault {
            throw failure(fault.number)
        }
    }

    private static let mark = ".snapsync-"

    /// Removes temporary files that killed runs left behind. A file younger than a minute may belong to a run that is still working.
    private func removeLeftovers(of target: String) {
        let url = URL(fileURLWithPath: target), folder = url.deletingLastPathComponent().path, prefix = url.lastPathComponent + Self.mark
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        where name.exact.hasPrefix(prefix) && UInt64(name.dropFirst(prefix.count)) != nil {
            let leftover = "\(folder)/\(name)"
            if let facts = Self.facts(leftover), facts.st_mtim.tv_sec < time(nil) - 60 { unlink(leftover) }
        }
    }

    private static func facts(_ path: String) -> stat? {
        var facts = stat()
        return stat(path, &facts) == 0 ? facts : nil
    }

    private static func isSame(_ left: stat?, _ right: stat?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return left.st_ino == right.st_ino && left.st_size == right.st_size && left.st_mtim.tv_sec == right.st_mtim.tv_sec
            && left.st_mtim.tv_nsec == right.st_mtim.tv_nsec
    }

    /// - Parameter number: the system's error number, read right after the failed call.
    private func failure(_ number: Int32) -> SyncError {
        fault(number, "it cannot be written: \(String(cString: strerror(number)))", "check the owner, mode and room of the file and of its folder")
    }

    private func fault(_ number: Int32, _ reason: String, _ hint: String) -> SyncError {
        SyncError([EACCES, EROFS, EPERM].contains(number) ? .permissionDenied : .inputOutput, step: .store, at: path, reason, hint: hint)
    }
}
