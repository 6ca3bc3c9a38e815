import Foundation
package import Sealing
import StrictText

/// The keys of a sealed zone as its record stores them: the newest epoch's secret for each member, and each older epoch's secret sealed with
/// the next one.
///
/// Only the members and the holder of the recovery code can open it. It needs no signature of its own, since it is part of signed commits.
/// Source: docs/sealed.md, "The key record".
package struct KeyRing: Hashable, Sendable {
    /// The newest epoch, from 1.
    package let epoch: UInt32
    /// The public key of the recovery code, in hexadecimal digits.
    package let recoveryKey: String
    /// The newest epoch's secret, sealed for each public key, including that of the recovery code, by the key's name (``name(of:)``).
    let wraps: [String: EpochWrap]
    /// The secrets of the earlier epochs, oldest first, each sealed with the secret of the next epoch.
    let previous: [Data]
    /// The commit that saved the record; 0 for a record that was made here and not saved yet.
    package private(set) var savedBy = 0
    package var kind: SealingKeyKind? { SealingKeyKind(publicKey: recoveryKey) }

    package static let recordType = "SnapshotKeys"
    package static let recordName = "snapshot_keys"
    /// The most epochs that a zone has.
    package static let epochLimit = 65_536

    /// The key record of a new zone.
    ///
    /// - Throws: ``BoxError`` with `.cipher` for an invalid public key.
    package init(_ first: EpochSecret, for keys: [DevicePublicKeys], recoveryKey: String, of history: HistoryID) throws(BoxError) {
        (epoch, self.recoveryKey, previous) = (first.number, recoveryKey, [])
        wraps = try Self.wraps(first, for: keys.map(\.sealing) + [recoveryKey], of: history)
    }

    private init(epoch: UInt32, recoveryKey: String, wraps: [String: EpochWrap], previous: [Data]) {
        (self.epoch, self.recoveryKey, self.wraps, self.previous) = (epoch, recoveryKey, wraps, previous)
    }

    /// The same epoch, for exactly these members.
    package func giving(_ newest: EpochSecret, to keys: [DevicePublicKeys], of history: HistoryID) throws(BoxError) -> KeyRing {
        let wanted = keys.map(\.sealing) + [recoveryKey], names = Set(wanted.map(Self.name))
        let missing = try Self.wraps(newest, for: wanted.filter { !isFor($0) }, of: history)
        return KeyRing(
            epoch: epoch, recoveryKey: recoveryKey, wraps: wraps.filter { names.contains($0.key) }.merging(missing) { $1 }, previous: previous)
    }

    /// A new epoch, for exactly these members.
    ///
    /// - Parameter recoveryKey: the public key of a new recovery code; nil keeps the present one.
    package func next(after newest: EpochSecret, for keys: [DevicePublicKeys], recoveryKey: String? = nil, of history: HistoryID) throws(BoxError) -> KeyRing {
        let secret = EpochSecret.random(number: epoch + 1), recovery = recoveryKey ?? self.recoveryKey
        return KeyRing(
            epoch: secret.number, recoveryKey: recovery, wraps: try Self.wraps(secret, for: keys.map(\.sealing) + [recovery], of: history),
            previous: previous + [try secret.sealing(newest, cloud: history.cloud, zone: history.zone.description)])
    }

    /// Whether the holder of this public key can open the record.
    package func isFor(_ key: String) -> Bool { wraps[Self.name(of: key)] != nil }

    /// How the record names a public key: an X25519 key by itself, one of X-Wing, which is long, by its SHA-256, each as 64 hexadecimal digits.
    private static func name(of key: String) -> String {
        key.utf8.count == 64 ? key : ContentHash.of(Hexadecimal.bytes(key.utf8) ?? [])
    }

    /// The secrets of all epochs, oldest first.
    ///
    /// - Parameter seed: the private key of `key`.
    /// - Throws: ``BoxError``: `.unknownEpoch` if the record is not sealed for that key, `.damaged`.
    package func secrets(by seed: [UInt8], of key: String, in history: HistoryID) throws(BoxError) -> [EpochSecret] {
        guard let wrap = wraps[Self.name(of: key)] else { throw .unknownEpoch(epoch) }
        let zone = history.zone.description
        var secrets = [try wrap.secret(of: epoch, by: seed, cloud: history.cloud, zone: zone)]
        for sealed in previous.reversed() { secrets.append(try secrets[secrets.count - 1].previous(sealed, cloud: history.cloud, zone: zone)) }
        return secrets.reversed()
    }

    private static func wraps(_ secret: EpochSecret, for keys: [String], of history: HistoryID) throws(BoxError) -> [String: EpochWrap] {
        var wraps: [String: EpochWrap] = [:]
        for key in keys {
            guard let bytes = Hexadecimal.bytes(key.utf8) else { throw .cipher }
            wraps[name(of: key)] = try EpochWrap(secret, for: bytes, cloud: history.cloud, zone: history.zone.description)
        }
        return wraps
    }
}

// The record: `epoch` (integer), `recovery` (string), `wraps` (list of lists of a public key's name and base64), `previous` (list of base64).
extension KeyRing {
    /// The record that the zone stores, with the tag of the commit that saved it.
    package var record: CloudRecord {
        let fields: [String: CloudValue] = [
            "epoch": .integer(Int64(epoch)), "recovery": .string(recoveryKey),
            "wraps": .list(wraps.sorted { $0.key < $1.key }.map { .list([.string($0.key), .string($0.value.bytes.base64EncodedString())]) }),
            "previous": .list(previous.map { .string($0.base64EncodedString()) }),
        ]
        return CloudRecord(type: Self.recordType, name: Self.recordName, fields: fields, changeTag: String(savedBy), creation: nil, modification: nil)
    }

    /// The same keys, marked as saved by commit `number`.
    package func saved(by number: Int) -> KeyRing {
        var ring = self
        ring.savedBy = number
        return ring
    }

    /// Reads the record of a zone.
    ///
    /// - Throws: ``CloudError`` with `.untrusted` at `place`.
    package init(_ record: CloudRecord, at place: String) throws(CloudError) {
        guard record.type == Self.recordType, case .integer(let number) = record.fields["epoch"], (1...Int64(Self.epochLimit)).contains(number),
            case .string(let recovery) = record.fields["recovery"], let kind = SealingKeyKind(publicKey: recovery),
            case .list(let wrapped) = record.fields["wraps"],
            case .list(let sealed) = record.fields["previous"], sealed.count == Int(number) - 1
        else { throw Self.untrusted(place) }
        var wraps: [String: EpochWrap] = [:]
        for wrap in wrapped {
            guard case .list(let pair) = wrap, pair.count == 2, case .string(let key) = pair[0], ContentHash.isHash(key), case .string(let text) = pair[1],
                let bytes = Data(base64Encoded: text), let wrap = EpochWrap(bytes), wrap.publicByteCount == kind.publicByteCount, wraps[key] == nil
            else { throw Self.untrusted(place) }
            wraps[key] = wrap
        }
        var previous: [Data] = []
        for value in sealed {
            guard case .string(let text) = value, let bytes = Data(base64Encoded: text), bytes.count == EpochSecret.chainedByteCount else {
                throw Self.untrusted(place)
            }
            previous.append(bytes)
        }
        self.init(epoch: UInt32(number), recoveryKey: recovery, wraps: wraps, previous: previous)
        savedBy = record.changeTag.flatMap { Int($0) } ?? 0
    }

    private static func untrusted(_ place: String) -> CloudError { MemberList.untrusted(place, "the record of the zone's keys is not one") }
}
