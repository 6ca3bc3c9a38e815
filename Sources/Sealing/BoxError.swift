/// Why a box was not opened or made. It holds no contents and no key.
package enum BoxError: Error, Equatable, Sendable, CustomStringConvertible {
    /// This device has no key of the epoch that the box names.
    case unknownEpoch(UInt32)
    /// The bytes are no box of this zone, kind and dataset, or they were altered.
    case damaged
    /// The cipher failed.
    case cipher

    package var description: String {
        switch self {
        case .unknownEpoch(let number): "this device has no key of epoch \(number)"
        case .damaged: "it is not what a member of this zone sealed for this place, or it was altered"
        case .cipher: "the cipher failed"
        }
    }
}
