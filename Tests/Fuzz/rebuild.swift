import Foundation
import SnapshotFormat

private let rebuilder = MemberRebuilder()

/// The repair of snapshot assets, by an input of four bytes that say what is damaged, and the JSON of an asset: what is made again
/// is what was there, or nothing.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count > 4 else { return }
    let text = UnsafeRawBufferPointer(rebasing: bytes[4...])
    guard let asset = try? FuzzAsset(text, engine: Int(bytes[0] % 2)) else { return }
    let index = asset.index.encode()
    let hash = index.withUnsafeBytes { ContentHash(of: $0) }

    let made = rebuild(asset.file, asset, hash)
    expect(made == nil || made == index, "an index that is made again is the one that was there")
    if (try? asset.verify()) != nil { expect(made == index, "the index of a sound asset is made again") }

    for part in asset.parts {
        let member = asset.file[part.entry.offset..<part.entry.end]
        let again = try? part.isBlock ? rebuilder.block(part.text, isFirst: true, as: part.entry) : rebuilder.text(part.text, as: part.entry)
        expect(again.map { $0.elementsEqual(member) } == true, "a member is made again of what it holds")
        let other = UnsafeRawBufferPointer(rebasing: part.text.dropLast())
        let wrong = try? part.isBlock ? rebuilder.block(other, isFirst: true, as: part.entry) : rebuilder.text(other, as: part.entry)
        expect(wrong == nil, "a member is not made of anything else")
    }

    var damaged = asset.file
    let place = (Int(bytes[1]) << 8 | Int(bytes[2])) % damaged.count
    if bytes[3] == 0 { damaged.removeSubrange(place...) } else { damaged[place] ^= bytes[3] }
    let fromDamaged = rebuild(damaged, asset, hash, isSound: false)
    expect(fromDamaged == nil || fromDamaged == index, "an index that is made of a damaged asset is the one that was there, or none")
}

/// The index of a file, made without it. Where no mean fits, all 65,536 are tried: seldom done here, for it takes its time.
private func rebuild(_ file: [UInt8], _ asset: FuzzAsset, _ hash: ContentHash, isSound: Bool = true) -> Data? {
    let maker = try? IndexRebuilder(byteCount: file.count, schema: asset.schema) { offset, target in
        target.copyBytes(from: file[offset..<offset + target.count])
    }
    guard let maker, isSound || file.count % 1024 == 7 else { return nil }
    return try? maker.index(sha256: hash, guesses: [400])
}
