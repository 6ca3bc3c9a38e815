public import Foundation
public import StrictText

/// A field's value.
public enum CloudValue: Hashable, Sendable {
    case string(String)
    case integer(Int64)
    /// Finite.
    case double(Double)
    case boolean(Bool)
    case date(Instant)
    /// Small; what is large belongs in an asset.
    case bytes(Data)
    case reference(RecordReference)
    case asset(CloudAsset)
    /// At most 4 lists deep.
    case list([CloudValue])
}

extension CloudValue {
    /// The references in the value, those in lists too.
    var references: [RecordReference] {
        switch self {
        case .reference(let reference): [reference]
        case .list(let values): values.flatMap(\.references)
        default: []
        }
    }
}
