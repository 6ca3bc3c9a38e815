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
