extension CloudAssetIndex {
    /// Refuses bytes that are not the index that the commit names.
    ///
    /// - Throws: ``CloudError`` with `.damaged` at `place`.
    package func verify(_ bytes: [UInt8], at place: String) throws(CloudError) {
        guard bytes.count == byteCount, ContentHash.of(bytes) == sha256 else {
            throw CloudError(.damaged, at: place, "the block index does not match its hash", hint: CloudError.damageHint)
        }
    }
}
