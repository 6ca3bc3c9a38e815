package import Sealing

/// An asset's reader or writer that may stand in a sealed zone. A decorator of one passes the keys on.
package protocol SealedStream {
    /// What opens and seals the asset's members; nil in a zone that is not sealed, and where this device has no keys.
    var boxes: DatasetBoxes? { get }
}

extension AssetReader {
    /// What opens the asset's members; nil if they are not sealed, and where this device has no keys.
    package var boxes: DatasetBoxes? { (self as? any SealedStream)?.boxes }
}

extension AssetWriter {
    /// What seals the asset's members; nil if they are not to be sealed.
    package var boxes: DatasetBoxes? { (self as? any SealedStream)?.boxes }
}

extension CloudError {
    /// Why a box of the cloud was not opened or made.
    package init(_ error: BoxError, at place: String) {
        switch error {
        case .unknownEpoch: self.init(.keyUnavailable, at: place, "\(error)", hint: Self.epochHint)
        case .damaged: self.init(.damaged, at: place, "\(error)", hint: Self.damageHint)
        case .cipher: self.init(.inputOutput, at: place, "\(error)")
        }
    }

    /// What to do where the key of an epoch is missing.
    package static let epochHint = "run snapsync sync; if the key is still missing then, have a member that publishes approve this device"
}
