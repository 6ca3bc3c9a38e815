import Foundation
import SnapshotModel
import SnapshotFormat

/// What libFuzzer calls with each input; every target file has one `fuzz(_:)`.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let begin = processorSeconds()
    fuzz(UnsafeRawBufferPointer(start: start, count: count))
    expect(processorSeconds() - begin < 1, "no input takes more than a second of the processor")
    return 0
}

/// Not the clock on the wall, by which any input takes long on a busy machine.
private func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Ends the run, and with it keeps the input, where a parser has taken what it must not, or made something else of it.
func expect(_ condition: Bool, _ fact: StaticString) {
    guard !condition else { return }
    FileHandle.standardError.write(Data("broken promise: \(fact)\n".utf8))
    abort()
}

/// The schemas that inputs are read with: the built-in ones, and one with every kind of column.
enum FuzzSchema {
    static let everyKind = make(key: .text, name: "things")
    static let integerKey = make(key: .integer, name: "numbers")

    /// The schema of the dataset whose name stands first in a container's text.
    static func named(in text: UnsafeRawBufferPointer) -> DatasetSchema {
        let head = String(decoding: text.prefix(120), as: UTF8.self)
        return [.notifications, .buckets, integerKey].first { head.contains("\"\($0.name)\":[") } ?? everyKind
    }

    private static func make(key: ColumnKind, name: String) -> DatasetSchema {
        do {
            return try DatasetSchema(
                name: name, table: name, key: "id", timestamp: "updatedAt",
                columns: [
                    DatasetColumn("flag", .boolean, isOptional: true), DatasetColumn("id", key), DatasetColumn("updatedAt", .text),
                    DatasetColumn("n", .integer), DatasetColumn("x", .real, isOptional: true), DatasetColumn("tree", .json),
                    DatasetColumn("bytes", .blob, isOptional: true),
                ])
        } catch {
            preconditionFailure("the schema breaks a rule: \(error)")
        }
    }
}

/// Takes entities and makes their canonical JSON, a line each.
final class CanonicalText: EntitySink {
    private let schema: DatasetSchema
    private(set) var lines: [[UInt8]] = []

    init(_ schema: DatasetSchema) { self.schema = schema }

    func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        let text = EntityText(schema: schema)
        try text.take(values)
        lines.append(Array(text.bytes))
    }
}
