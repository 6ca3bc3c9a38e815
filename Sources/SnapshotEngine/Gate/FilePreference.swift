import Foundation
import Platform
import SnapshotVersions
import StrictText

/// A preference in an application's own settings file: `true` or `false` under one key of a JSON object.
///
/// Only the value is replaced: the order of keys, numbers and white space stay as the application wrote them. The new file replaces the old one
/// in one step and gets its mode. If the application writes the file between the read and the replacement, the edit is repeated on the
/// application's version. The file's time does not say when this key was changed, so `changedAt` is nil.
public struct FilePreference: PreferenceBinding {
    /// The file's path.
    public let path: String
    /// The key, at the top level of the object.
    public let key: String

    public init(path: String, key: String) { (self.path, self.key) = (path, key) }

    /// Returns the stored value; nil if the file or key does not exist, or the value is null.
    ///
    /// - Throws: ``SyncError`` if the file cannot be read, or the value is of another type.
    public func load() throws -> BoundPreference? {
        guard let data = try SettingsFile(path: path).contents() else { return nil }
        return try place(in: data).value.map { BoundPreference(isOn: $0) }
    }

    /// Writes the value, and creates the file if there is none; nil writes null.
    ///
    /// - Throws: ``SyncError`` if the file cannot be read, understood or written.
    public func store(_ isOn: Bool?) throws {
        try SettingsFile(path: path).edit { data in
            let word = isOn.map { "\($0)" } ?? "null"
            guard let data else { return isOn == nil ? nil : Data("{\(try quotedKey()):\(word)}\n".utf8) }
            let place = try place(in: data)
            guard place.value != isOn else { return nil }
            var edited = data
            edited.replaceSubrange(place.range, with: Data("\(place.before)\(word)\(place.after)".utf8))
            return edited
        }
    }

    /// The position of the value, or where to insert it, and the text around it.
    private struct Place {
        let range: Range<Int>
        var before = ""
        var after = ""
        var value: Bool?
    }

    private func place(in data: Data) throws -> Place {
        do {
            return try data.withUnsafeBytes { bytes in
                try StrictJSON.check(bytes)
                return try place(JSONScanner(bytes))
            }
        } catch is JSONFault {
            throw fault("it is not strict JSON", "mend it; a JSON object is expected")
        }
    }

    /// Finds the value among the object's keys. The text has been checked to be JSON.
    private func place(_ scanner: JSONScanner) throws -> Place {
        let brace = scanner.skipSpace(0)
        guard scanner.base[brace] == UInt8(ascii: "{") else { throw fault("it is not a JSON object", "name a file that holds one") }
        var found: Place?, isEmpty = true
        let first = try scanner.forEachMember { name, value in
            isEmpty = false
            guard name.elementsEqual(key.utf8) else { return }
            // SAFETY: the scanner found the range inside the bytes that it was given.
            switch String(decoding: UnsafeBufferPointer(start: scanner.base + value.lowerBound, count: value.count), as: UTF8.self) {
            case "true": found = Place(range: value, value: true)
            case "false": found = Place(range: value, value: false)
            case "null": found = Place(range: value)
            default: throw fault("what stands under the key is neither true nor false", "correct it, or bind another key")
            }
        }
        if let found { return found }
        return Place(range: first..<first, before: "\(try quotedKey()):", after: isEmpty ? "" : ",")
    }

    private func quotedKey() throws -> String { String(decoding: try StrictJSON.encode(key), as: UTF8.self) }

    private func fault(_ reason: String, _ hint: String) -> SyncError {
        SyncError(.dataRefused, step: .open, at: "\(path), key \(key)", reason, hint: hint)
    }
}

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
