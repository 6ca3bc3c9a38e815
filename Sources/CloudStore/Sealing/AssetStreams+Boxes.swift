package import Sealing

extension AssetReader {
    /// Opens the asset's members; nil if they are not sealed, or if this device has no keys.
    package var boxes: DatasetBoxes? { (self as? SealedAssetReader)?.boxes }
}

extension AssetWriter {
    /// Seals the asset's members; nil if they are not to be sealed.
    package var boxes: DatasetBoxes? {
        if let sealed = self as? SealedAssetWriter { return sealed.boxes }
        return (self as? LimitedAssetWriter)?.boxes
    }
}

extension CloudError {
    /// The error for a box that could not be opened or made.
    package init(_ error: BoxError, at place: String) {
        switch error {
        case .unknownEpoch: self.init(.keyUnavailable, at: place, "\(error)", hint: Self.epochHint)
        case .damaged: self.init(.damaged, at: place, "\(error)", hint: Self.damageHint)
        case .cipher: self.init(.inputOutput, at: place, "\(error)")
        }
    }

    /// The hint for a missing key of an epoch.
    package static let epochHint = "run snapsync sync; if the key is still missing then, have a member that publishes approve this device"
}
