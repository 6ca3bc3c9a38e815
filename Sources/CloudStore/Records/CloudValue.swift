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
    /// The references in the value, including those in lists.
    var references: [RecordReference] {
        switch self {
        case .reference(let reference): [reference]
        case .list(let values): values.flatMap(\.references)
        default: []
        }
    }
}
