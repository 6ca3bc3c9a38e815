import Foundation
package import Sealing
import StrictText

// The form that a record of a sealed zone has in the store: its name and type, its assets, and one box with all its fields.
extension CloudRecord {
    private static let assetsField = "assets"
    private static let boxField = "sealed"

    /// Whether the store may hold the record as it is: it is sealed, or it contains only public keys and data that is already sealed.
    package var mayStandInSealedZone: Bool { isOfMembership || isSealed }

    /// Whether the record is the list of members or the key record. These two are not sealed.
    private var isOfMembership: Bool { name == MemberList.recordName || name == KeyRing.recordName }

    /// Whether the record has the form of a sealed one.
    package var isSealed: Bool {
        guard case .bytes(let box) = fields[Self.boxField], box.count >= BoxKeys.overhead else { return false }
        guard let assets = fields[Self.assetsField] else { return fields.count == 1 }
        guard fields.count == 2, case .list(let values) = assets else { return false }
        return values.allSatisfy { if case .asset = $0 { true } else { false } }
    }

    /// The sealed record, as the store gets it.
    ///
    /// - Throws: ``BoxError``, or the encoder's error for a value that JSON cannot express.
    package func sealed(by keys: BoxKeys) throws -> CloudRecord {
        guard !isOfMembership else { return self }
        let text = try StrictJSON.encode(fields)
        var record = CloudRecord(type: type, name: name, fields: [:])
        record.fields[Self.boxField] = .bytes(Data(try keys.seal(text, kind: .record, dataset: name)))
        if !assets.isEmpty { record.fields[Self.assetsField] = .list(Self.shown(assets, by: keys).map { .asset($0) }) }
        return record
    }

    /// The record as its publisher wrote it.
    ///
    /// - Throws: ``BoxError`` with `.unknownEpoch`; ``CloudError`` with `.untrusted` at `place`.
    package func opened(by keys: BoxKeys, at place: String) throws -> CloudRecord {
        guard !isOfMembership else { return self }
        guard isSealed, case .bytes(let box) = fields[Self.boxField] else { throw MemberList.untrusted(place, "the zone is sealed, and record \(name) is not") }
        let text: [UInt8]
        do throws(BoxError) {
            text = try keys.open(box, kind: .record, dataset: name)
        } catch {
            if case .unknownEpoch = error { throw error }
            throw MemberList.untrusted(place, "record \(name): \(error)")
        }
        guard let fields = try? StrictJSON.decode([String: CloudValue].self, from: Data(text)) else {
            throw MemberList.untrusted(place, "record \(name): what was sealed are no fields")
        }
        let record = CloudRecord(
            type: type, name: name, fields: fields, changeTag: changeTag ?? "", creation: creation, modification: modification)
        // What the store goes by, to keep and to remove files, must be what the readers go by.
        guard Self.shown(record.assets, by: keys) == Self.inOrder(assets), record.fault(at: .max) == nil else {
            throw MemberList.untrusted(place, "record \(name) names other assets than what was sealed says, or is not possible")
        }
        return record
    }

    /// The assets as the store sees them: in a padded zone with a rounded length of what they decompress to.
    private static func shown(_ assets: [CloudAsset], by keys: BoxKeys) -> [CloudAsset] {
        inOrder(assets).map { asset in
            guard keys.isPadded else { return asset }
            return CloudAsset(
                path: asset.path, byteCount: asset.byteCount, rawByteCount: Padding.length(asset.rawByteCount), sha256: asset.sha256, index: asset.index)
        }
    }

    private static func inOrder(_ assets: [CloudAsset]) -> [CloudAsset] {
        Set(assets).sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
    }
}
