import SnapshotModel
import StrictText

/// The instants of a row's columns as `snapsync_instants` keeps them: a JSON object of names and microseconds.
struct ColumnInstants {
    /// By name; nil stands for the row's own timestamp, while the row is not known.
    private let instants: [ExactText: Instant?]

    /// Nil if the text is not such an object.
    init?(_ text: UnsafeRawBufferPointer) {
        let scanner = JSONScanner(text)
        guard text.first == UInt8(ascii: "{"), (try? scanner.skipValue(0)) == text.count else { return nil }
        var instants: [ExactText: Instant?] = [:], isFit = true
        _ = try? scanner.forEachMember { name, value in
            let value = UnsafeRawBufferPointer(rebasing: text[value]), at = Int64(String(decoding: value, as: UTF8.self))
            isFit = isFit && (at != nil || value.elementsEqual("true".utf8))
            instants[String(decoding: name, as: UTF8.self).exact] = .some(at.map(Instant.init(microseconds:)))
        }
        guard isFit else { return nil }
        self.instants = instants
    }

    init(_ instants: [ExactText: Instant]) { self.instants = instants.mapValues { $0 } }

    private init(_ instants: [ExactText: Instant?]) { self.instants = instants }

    /// With the row's own timestamp where it stands for the instant.
    func dated(_ own: Instant) -> ColumnInstants { ColumnInstants(instants.mapValues { .some($0 ?? own) }) }

    /// The instants that are known.
    var known: [ExactText: Instant] { instants.compactMapValues { $0 } }

    var text: String {
        let members = instants.sorted { $0.key < $1.key }.map { "\(Self.quoted($0.key.description)):\($0.value.map { "\($0.microseconds)" } ?? "true")" }
        return "{\(members.joined(separator: ","))}"
    }

    /// A name as a JSON string.
    static func quoted(_ name: String) -> String { (try? StrictJSON.encode(name)).map { String(decoding: $0, as: UTF8.self) } ?? "\"\"" }

    /// The names of a dataset's columns by position as a JSON array, as an SQL literal.
    ///
    /// - Parameter hasKey: whether to name the columns of the key, too, for which the array otherwise has null.
    static func names(of schema: DatasetSchema, withKey hasKey: Bool = false) -> String {
        let names = schema.columns.enumerated().map { !hasKey && schema.keyIndices.contains($0) ? "null" : quoted($1.name) }
        return "[\(names.joined(separator: ","))]".sqlText
    }
}
