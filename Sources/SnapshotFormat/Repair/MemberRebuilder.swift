package import Sealing

/// Rebuilds a member's bytes from its contents by trying the libraries. The hash decides which one is right.
///
///     let rebuilder = MemberRebuilder()
///     if let bytes = try rebuilder.block(json, isFirst: number == 0, as: entry) { … }
///
/// Returns nil if a library made the member that this system lacks or has in another version. One thread at a time.
package final class MemberRebuilder {
    private var compressors: [Method: MemberCompressor] = [:]
    /// The method that last succeeded, which is tried first.
    private var usual: Method
    private let member = CompressedMember()
    /// The boxes that may have sealed members, one for each epoch; a single nil if they are not sealed.
    private let epochs: [DatasetBoxes?]

    private struct Method: Hashable {
        let engine: DeflateEngine
        /// The position in ``epochs``.
        let epoch: Int
    }

    /// Makes a rebuilder.
    ///
    /// - Parameter boxes: encrypts the members of a sealed zone.
    package init(boxes: DatasetBoxes? = nil) {
        epochs = boxes?.allEpochs ?? [nil]
        usual = Method(engine: .isal, epoch: 0)
    }

    /// The member of a block; nil if no method gives the bytes that the entry states.
    ///
    /// - Parameter entities: the block's JSON without the separator before its first entity.
    package func block(_ entities: UnsafeRawBufferPointer, isFirst: Bool, as entry: MemberEntry) throws -> [UInt8]? {
        guard ContentHash(of: entities) == entry.rawSHA256 else { return nil }
        return try rebuild(entry) { try $0.compress(entities: entities, rawSHA256: entry.rawSHA256, isFirst: isFirst, into: self.member) }
    }

    /// The member of a head or a tail; nil if no method gives the bytes that the entry states.
    package func text(_ bytes: UnsafeRawBufferPointer, as entry: MemberEntry) throws -> [UInt8]? {
        guard ContentHash(of: bytes) == entry.rawSHA256 else { return nil }
        return try rebuild(entry) { _ = try $0.compress(bytes, reusing: self.member) }
    }

    private func rebuild(_ entry: MemberEntry, _ compress: (MemberCompressor) throws -> Void) throws -> [UInt8]? {
        for method in methods {
            try compress(compressor(method))
            guard member.entry.sha256 == entry.sha256 else { continue }
            usual = method
            return Array(member.bytes)
        }
        return nil
    }

    private var methods: [Method] {
        let all = epochs.indices.flatMap { epoch in [Method(engine: .isal, epoch: epoch), Method(engine: .zlib, epoch: epoch)] }
        return [usual] + all.filter { $0 != usual }
    }

    private func compressor(_ method: Method) -> MemberCompressor {
        if let known = compressors[method] { return known }
        let made = MemberCompressor(engine: method.engine, boxes: epochs[method.epoch])
        compressors[method] = made
        return made
    }
}
