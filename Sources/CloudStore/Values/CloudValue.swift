public import Foundation
public import StrictText

/// A field's value.
public enum CloudValue: Hashable, Sendable {
    case string(String)
    case integer(Int64)
    /// Must be finite.
    case double(Double)
    case boolean(Bool)
    case date(Instant)
    /// Only for small data; large data belongs in an asset.
    case bytes(Data)
    case reference(RecordReference)
    case asset(CloudAsset)
    /// Lists may be nested up to 4 deep.
    case list([CloudValue])
}

extension CloudValue {
    public static func == (left: CloudValue, right: CloudValue) -> Bool {
        switch (left, right) {
        case (.string(let left), .string(let right)): left.exact == right.exact
        case (.integer(let left), .integer(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.boolean(let left), .boolean(let right)): left == right
        case (.date(let left), .date(let right)): left == right
        case (.bytes(let left), .bytes(let right)): left == right
        case (.reference(let left), .reference(let right)): left == right
        case (.asset(let left), .asset(let right)): left == right
        case (.list(let left), .list(let right)): left == right
        default: false
        }
    }

    /// The references in the value, including those in lists.
    package var references: [RecordReference] {
        switch self {
        case .reference(let reference): [reference]
        case .list(let values): values.flatMap(\.references)
        default: []
        }
    }
}

/// A field's value as JSON: `{"type":"integer","value":5}`.
///
/// Types of format version 1: string, integer, double, boolean, date (RFC 3339), bytes (base64), reference, asset, list. A reader refuses a
/// commit with an unknown type (`incompatibleVersion`): it could neither show such a value nor save it again completely.
extension CloudValue: Codable {
    private enum CodingKeys: String, CodingKey {
        case type, value
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decode(String.self, forKey: .type) {
        case "string": self = .string(try container.decode(String.self, forKey: .value))
        case "integer": self = .integer(try container.decode(Int64.self, forKey: .value))
        case "double": self = .double(try container.decode(Double.self, forKey: .value))
        case "boolean": self = .boolean(try container.decode(Bool.self, forKey: .value))
        case "date": self = .date(try container.decode(Instant.self, forKey: .value))
        case "bytes": self = .bytes(try container.decode(Data.self, forKey: .value))
        case "reference": self = .reference(try container.decode(RecordReference.self, forKey: .value))
        case "asset": self = .asset(try container.decode(CloudAsset.self, forKey: .value))
        case "list": self = .list(try container.decode([CloudValue].self, forKey: .value))
        default:
            throw CloudError(
                .incompatibleVersion, at: "field", "a field's type is unknown to this version", hint: "update snapsync on this device")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        func write(_ type: String, _ value: some Encodable) throws {
            try container.encode(type, forKey: .type)
            try container.encode(value, forKey: .value)
        }
        switch self {
        case .string(let text): try write("string", text)
        case .integer(let number): try write("integer", number)
        case .double(let number): try write("double", number)
        case .boolean(let flag): try write("boolean", flag)
        case .date(let instant): try write("date", instant)
        case .bytes(let data): try write("bytes", data)
        case .reference(let reference): try write("reference", reference)
        case .asset(let asset): try write("asset", asset)
        case .list(let values): try write("list", values)
        }
    }
}

extension CloudValue {
    /// The assets in the value, including those in lists.
    package var assets: [CloudAsset] {
        switch self {
        case .asset(let asset): [asset]
        case .list(let values): values.flatMap(\.assets)
        default: []
        }
    }
}

extension CloudRecord {
    /// The assets that the record's fields name.
    package var assets: [CloudAsset] { fields.values.flatMap(\.assets) }
}
