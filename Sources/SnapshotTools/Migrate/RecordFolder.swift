import Foundation
import SnapshotModel
import SnapshotVersions
import StrictText

/// The old layout: one JSON file per record, in folders named after the datasets, or in one folder with a `recordType` in each file.
struct RecordFolder: Sendable {
    let directory: String
    let schemas: [DatasetSchema]

    struct Contents: Sendable {
        var records: [OldRecord] = []
        var bad: [MigrationReport.BadFile] = []
        var others: [String] = []
    }

    /// The maximum size of a record's file in bytes, because it is held in memory whole.
    static let sizeLimit = 64 << 20

    /// Reads every file, in the order of the names.
    func read() throws -> Contents {
        var contents = Contents()
        for name in try names(in: directory) {
            let path = "\(directory)/\(name)"
            guard Self.isFolder(path) else {
                take(name, folder: nil, into: &contents)
                continue
            }
            for file in try names(in: path) { take("\(name)/\(file)", folder: name, into: &contents) }
        }
        return contents
    }

    private func names(in folder: String) throws -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.exact.hasPrefix(".") }.sorted {
                $0.utf8.lexicographicallyPrecedes($1.utf8)
            }
        } catch {
            let isThere = FileManager.default.fileExists(atPath: folder)
            throw SyncError(
                isThere ? .permissionDenied : .nothingThere, step: .read, at: folder, isThere ? "the directory cannot be read" : "there is no such directory",
                hint: isThere ? "check that it is a directory, and its mode" : "check the path given with --from")
        }
    }

    private func take(_ file: String, folder: String?, into contents: inout Contents) {
        guard file.folded.hasSuffix(".json") else {
            contents.others.append(file)
            return
        }
        do {
            contents.records.append(try record(file, folder: folder))
        } catch let error as BadRecord {
            contents.bad.append(.init(file: file, reason: error.reason))
        } catch {
            contents.bad.append(.init(file: file, reason: "it cannot be read"))
        }
    }

    private func record(_ file: String, folder: String?) throws -> OldRecord {
        let path = "\(directory)/\(file)"
        guard let facts = try? FileManager.default.attributesOfItem(atPath: path), facts[.type] as? FileAttributeType == .typeRegular else {
            throw BadRecord(reason: "it is not a regular file")
        }
        guard let size = facts[.size] as? Int, size <= Self.sizeLimit else { throw BadRecord(reason: "it is larger than \(Self.sizeLimit >> 20) MiB") }
        guard let data = FileManager.default.contents(atPath: path) else { throw BadRecord(reason: "it cannot be read") }
        do {
            try data.withUnsafeBytes { bytes in
                try StrictJSON.check(bytes)
                let scanner = JSONScanner(bytes)
                guard scanner.base[scanner.skipSpace(0)] == UInt8(ascii: "{") else { throw BadRecord(reason: "it is not one JSON object") }
            }
        } catch let fault as JSONFault {
            throw BadRecord(reason: "it is not strict JSON: \(fault.reason) at byte \(fault.offset)")
        }
        let type: String?
        do {
            type = try JSONDecoder().decode(Envelope.self, from: data).recordType
        } catch {
            throw BadRecord(reason: "recordType is not a text")
        }
        return try OldRecord(data, file: file, schema: schema(type: type, folder: folder))
    }

    /// The dataset that a folder or a record type names. If both name one, they must agree.
    private func schema(type: String?, folder: String?) throws -> DatasetSchema {
        let named = try [type, folder].compactMap { $0 }.map { name in
            guard let schema = schemas.first(where: { Self.names($0).contains(name.folded) }) else {
                throw BadRecord(reason: "no dataset is called \(name.debugDescription); there are \(schemas.map(\.name).joined(separator: ", "))")
            }
            return schema
        }
        guard let first = named.first else { throw BadRecord(reason: "it has no recordType, and its folder names no dataset") }
        guard named.allSatisfy({ $0 == first }) else { throw BadRecord(reason: "its recordType is another dataset's than its folder") }
        return first
    }

    /// The accepted names of a dataset, folded: `buckets`, `bucket`.
    private static func names(_ schema: DatasetSchema) -> Set<ExactText> {
        let name = schema.name.folded
        return name.hasSuffix("s") ? [name, String(name.text.dropLast()).exact] : [name]
    }

    private static func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }

    private struct Envelope: Decodable {
        let recordType: String?
    }
}
