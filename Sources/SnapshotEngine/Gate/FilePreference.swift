import Foundation
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

    public init(path: String, key: String) {
        self.path = path
        self.key = key
    }

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
