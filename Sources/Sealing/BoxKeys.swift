internal import Crypto
package import Foundation

/// Seals and opens the contents of a sealed zone, with the keys of all epochs that a device knows.
///
///     let keys = try BoxKeys(cloud: uuid, zone: "private/main", epochs: [first, second])
///     let box = try keys.seal(bytes, kind: .record, dataset: "notes_data")
///     let same = try keys.open(box, kind: .record, dataset: "notes_data")
///
/// A box is the epoch's number (4 bytes, big-endian), the id (32), the ciphertext (as long as the contents) and the tag (16). The id is an HMAC
/// of the contents and their place, and the box's key is derived from the id. So equal contents at one place give equal boxes, and no key is used
/// for two different contents. Source: docs/sealed.md, "Boxes".
package struct BoxKeys: Sendable {
    /// How many bytes a box adds to its contents, which a padded zone pads first.
    package static let overhead = 4 + idLength + tagLength
    private static let idLength = 32
    private static let tagLength = 16
    private static let headLength = 4 + idLength
    private static let label: StaticString = "snapsync.box.1"

    /// The key of the cut rule. Every epoch uses the first epoch's, so that a new epoch does not move block boundaries.
    package let cutKey: CutKey
    /// The numbers of all known epochs, ascending.
    package var epochNumbers: [UInt32] { epochs.keys.sorted() }
    /// Whether contents are padded before they are sealed (``Padding``).
    package let isPadded: Bool
    private let cloud: String
    private let zone: String
    private let epochs: [UInt32: Epoch]
    private var newest: Epoch

    private struct Epoch: Sendable {
        let number: UInt32
        let id: SymmetricKey
        let box: SymmetricKey
    }

    /// Derives the keys of a zone.
    ///
    /// - Parameters:
    ///   - cloud: the cloud's UUID.
    ///   - zone: the zone's scope and name, `private/main`.
    ///   - secrets: those of all known epochs, including the first.
    ///   - isPadded: whether the zone's boxes are padded.
    /// - Throws: ``BoxError`` with `.unknownEpoch(1)` if the first epoch is missing.
    package init(cloud: String, zone: String, epochs secrets: [EpochSecret], isPadded: Bool = false) throws(BoxError) {
        guard let first = secrets.first(where: { $0.number == 1 }), let last = secrets.max(by: { $0.number < $1.number }),
            let cutKey = first.key("snapsync.cut.1", byteCount: 16).withUnsafeBytes({ CutKey($0) })
        else { throw .unknownEpoch(1) }
        self.cutKey = cutKey
        self.cloud = cloud
        self.zone = zone
        self.isPadded = isPadded
        newest = Self.epoch(last)
        epochs = Dictionary(secrets.map { ($0.number, Self.epoch($0)) }, uniquingKeysWith: { first, _ in first })
    }

    /// The same keys, sealing in that epoch; nil if the epoch is not known. Used to recreate a box that was lost.
    package func sealing(inEpoch number: UInt32) -> BoxKeys? {
        guard let epoch = epochs[number] else { return nil }
        var keys = self
        keys.newest = epoch
        return keys
    }

    private static func epoch(_ secret: EpochSecret) -> Epoch {
        Epoch(number: secret.number, id: secret.key("snapsync.id.1"), box: secret.key("snapsync.key.1"))
    }

    /// The box of some bytes in the newest epoch.
    package func seal(_ bytes: some ContiguousBytes, kind: BoxKind, dataset: String) throws(BoxError) -> [UInt8] {
        try Self.withBytes(bytes) { bytes throws(BoxError) in
            var box: [UInt8] = []
            box.reserveCapacity(bytes.count + Self.overhead)
            try seal(bytes, kind: kind, dataset: dataset) { box.append(contentsOf: $0) }
            return box
        }
    }

    /// The contents of a box.
    ///
    /// - Throws: ``BoxError``: `.unknownEpoch`, or `.damaged` for altered bytes and for a box of another zone, kind or dataset.
    package func open(_ box: some ContiguousBytes, kind: BoxKind, dataset: String) throws(BoxError) -> [UInt8] {
        try Self.withBytes(box) { box throws(BoxError) in Array(try opened(box, kind: kind, dataset: dataset)) }
    }

    /// Passes the parts of the box of some bytes to `write`, in order: epoch and id, ciphertext, tag.
    func seal(_ bytes: UnsafeRawBufferPointer, kind: BoxKind, dataset: String, write: (UnsafeRawBufferPointer) -> Void) throws(BoxError) {
        guard isPadded else { return try seal(padded: bytes, kind: kind, dataset: dataset, write: write) }
        try Self.withBytes(Padding.padded(bytes)) { bytes throws(BoxError) in try seal(padded: bytes, kind: kind, dataset: dataset, write: write) }
    }

    private func seal(padded bytes: UnsafeRawBufferPointer, kind: BoxKind, dataset: String, write: (UnsafeRawBufferPointer) -> Void) throws(BoxError) {
        let context = context(of: newest.number, kind, dataset)
        let id = Self.id(of: bytes, context, newest)
        let sealed: AES.GCM.SealedBox
        do {
            sealed = try AES.GCM.seal(bytes, using: Self.key(id, newest), nonce: Self.nonce(), authenticating: context)
        } catch {
            throw .cipher
        }
        withUnsafeBytes(of: newest.number.bigEndian) { write($0) }
        id.withUnsafeBytes { write($0) }
        sealed.ciphertext.withUnsafeBytes { write($0) }
        sealed.tag.withUnsafeBytes { write($0) }
    }

    /// The contents of a box, as data. Memory: the contents once, briefly twice.
    package func opened(_ box: some ContiguousBytes, kind: BoxKind, dataset: String) throws(BoxError) -> Data {
        try Self.withBytes(box) { box throws(BoxError) in try opened(box, kind: kind, dataset: dataset) }
    }

    func opened(_ box: UnsafeRawBufferPointer, kind: BoxKind, dataset: String) throws(BoxError) -> Data {
        guard let number = Self.epoch(of: box) else { throw .damaged }
        guard let epoch = epochs[number] else { throw .unknownEpoch(number) }
        let id = Array(box[4..<Self.headLength])
        let context = context(of: number, kind, dataset)
        let contents: Data
        do {
            let sealed = try AES.GCM.SealedBox(
                nonce: Self.nonce(), ciphertext: UnsafeRawBufferPointer(rebasing: box[Self.headLength..<box.count - Self.tagLength]),
                tag: UnsafeRawBufferPointer(rebasing: box[(box.count - Self.tagLength)...]))
            contents = try AES.GCM.open(sealed, using: Self.key(id, epoch), authenticating: context)
        } catch {
            throw .damaged
        }
        // Check that the id belongs to these contents. With GCM alone, a member could make a box that opens to two different contents.
        let isSame = contents.withUnsafeBytes { bytes in
            var code = HMAC<SHA256>(key: epoch.id)
            code.update(data: context)
            code.update(data: bytes)
            return code.finalize() == id
        }
        guard isSame else { throw .damaged }
        guard isPadded else { return contents }
        guard let count = contents.withUnsafeBytes({ Padding.contentCount(of: $0) }) else { throw .damaged }
        return contents.prefix(count)
    }

    /// The epoch's number in a box; nil if the bytes are too few for a box, or for epoch 0.
    package static func epoch(of box: UnsafeRawBufferPointer) -> UInt32? {
        guard box.count >= overhead else { return nil }
        let number = UInt32(bigEndian: box.loadUnaligned(as: UInt32.self))
        return number > 0 ? number : nil
    }

    /// Whether the 4 bytes at `position` are the number of a known epoch, as at the beginning of a box.
    package func namesEpoch(_ bytes: UnsafeRawBufferPointer, at position: Int) -> Bool {
        epochs[UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self))] != nil
    }

    /// Whether the bytes begin like a box of a known epoch.
    package func mayBeBox(_ bytes: UnsafeRawBufferPointer) -> Bool { Self.epoch(of: bytes).map { epochs[$0] != nil } ?? false }

    /// The data that a box is authenticated with: label, epoch, cloud, zone, kind, dataset. Each text ends with a zero byte, which none contains.
    private func context(of epoch: UInt32, _ kind: BoxKind, _ dataset: String) -> [UInt8] {
        var context: [UInt8] = []
        context.reserveCapacity(160)
        context.append(contentsOf: UnsafeBufferPointer(start: Self.label.utf8Start, count: Self.label.utf8CodeUnitCount))
        context.append(0)
        withUnsafeBytes(of: epoch.bigEndian) { context.append(contentsOf: $0) }
        for text in [cloud, zone, kind.rawValue, dataset] {
            context.append(contentsOf: text.utf8)
            context.append(0)
        }
        return context
    }

    private static func id(of bytes: UnsafeRawBufferPointer, _ context: [UInt8], _ epoch: Epoch) -> [UInt8] {
        var code = HMAC<SHA256>(key: epoch.id)
        code.update(data: context)
        code.update(data: bytes)
        return Array(code.finalize())
    }

    private static func key(_ id: [UInt8], _ epoch: Epoch) -> SymmetricKey {
        SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: id, using: epoch.box))
    }

    /// Twelve zero bytes. A fixed nonce is safe because each key encrypts only one content.
    private static func nonce() throws -> AES.GCM.Nonce { try AES.GCM.Nonce(data: [UInt8](repeating: 0, count: 12)) }

    private static func withBytes<T>(_ bytes: some ContiguousBytes, _ body: (UnsafeRawBufferPointer) throws(BoxError) -> T) throws(BoxError) -> T {
        do {
            return try bytes.withUnsafeBytes { try body($0) }
        } catch let error as BoxError {
            throw error
        } catch {
            throw .cipher
        }
    }
}

extension BoxKeys: CustomStringConvertible, CustomReflectable {
    /// The zone and the newest epoch; nothing of the keys.
    package var description: String { "keys of \(zone), epochs up to \(newest.number)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

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

/// What a box contains. A box of one kind does not open as another kind.
package enum BoxKind: String, Sendable, CaseIterable {
    /// A gzip member of an asset, or a whole change asset.
    case member
    /// The block index of a snapshot asset.
    case index
    /// The fields of a record.
    case record
    /// A message of a reader.
    case message
}
