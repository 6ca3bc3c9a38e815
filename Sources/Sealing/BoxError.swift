/// Why a box could not be opened or made. Contains neither contents nor keys.
package enum BoxError: Error, Equatable, Sendable, CustomStringConvertible {
    /// This device has no key for the box's epoch.
    case unknownEpoch(UInt32)
    /// The bytes are not a box of this zone, kind and dataset, or they were altered.
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
