@testable import CloudStore
@testable import DirectoryCloud
import Foundation

/// The repair of a zone's history, by an input that says what is done to its files: nothing is mended but to what it was, nothing
/// that can be read is changed, and nothing is thrown away.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    guard let first = bytes.first else { return }
    let cloud = first & 7 == 0 ? FuzzCloud.pruned : FuzzCloud.whole
    var damage = FuzzDamage(cloud)
    for start in stride(from: 1, to: min(bytes.count, 1 + 6 * 8), by: 6) { damage.act(bytes[start..<min(start + 6, bytes.count)]) }

    let disk = SimulatedFileSystem(damage.image)
    guard let zone = try? cloud.open(disk) else { return expect(false, "the zone's folder is there") }
    let before = try? HistoryReader(zone.zone).state(at: nil, notBefore: nil)
    guard let found = try? HistoryExamination(zone: zone, token: first & 8 == 0 ? cloud.token : nil, pinned: []).run() else { return }
    if !damage.isForged {
        for one in found where one.mended != nil {
            expect(cloud.documents.contains { $0.path == one.path && $0.bytes == one.mended }, "what is mended is what was there")
        }
    }
    for one in found {
        guard let mended = one.mended else { continue }
        let path = "\(FuzzCloud.zone)/\(one.path)"
        let damaged = disk.image.bytes(path)
        let replacement = FileReplacement(zone: zone, path: one.path, byteCount: mended.count, sha256: ContentHash.of(mended))
        guard
            let repaired = try? replacement.run(
                dryRun: false,
                write: { append in
                    try mended.withUnsafeBytes { try append($0) }
                    return true
                })
        else { return expect(false, "a document whose bytes are known is put in its place") }
        expect(disk.image.bytes(path) == mended, "a document that was repaired is there")
        expect(repaired.setAside.flatMap { disk.image.bytes("\(FuzzCloud.zone)/\($0)") } == damaged, "what was damaged is set aside")
    }
    let after = try? HistoryReader(zone.zone).state(at: nil, notBefore: nil)
    if let before { expect(after.map { $0.token == before.token && $0.records == before.records } == true, "a history that can be read stays what it was") }
    if let after, !damage.isForged, let number = after.token?.number {
        expect(cloud.states[number].map { $0.token == after.token && $0.records == after.records } == true, "what is read after a repair was published")
    }
    expect(disk.openCount <= 1, "no descriptor stays open but the zone's")
}

/// Damage, act by act.
private struct FuzzDamage {
    private let cloud: FuzzCloud
    private(set) var image: DiskImage
    /// Whether a document was changed and sealed anew, which only a forger does.
    private(set) var isForged = false
    private var nextNode = 1_000_000

    init(_ cloud: FuzzCloud) {
        self.cloud = cloud
        image = cloud.image
    }

    /// One act: what, to which document, where, and with which byte.
    mutating func act(_ bytes: Slice<UnsafeRawBufferPointer>) {
        func byte(_ index: Int) -> Int { index < bytes.count ? Int(bytes[bytes.startIndex + index]) : 0 }
        let one = cloud.documents[byte(1) % cloud.documents.count]
        let path = "\(FuzzCloud.zone)/\(one.path)"
        let place = (byte(2) << 8 | byte(3)) % one.bytes.count, value = UInt8(byte(4))
        switch byte(0) % 9 {
        case 0: image.damage(path) { if place < $0.count { $0[place] ^= 1 << (value & 7) } }
        case 1: image.damage(path) { if place < $0.count { $0[place] = value } }
        case 2: image.damage(path) { $0.removeLast(max(0, $0.count - place)) }
        case 3: remove(one.path)
        case 4: copy(one, as: String(one.path.dropLast(5)) + (value & 8 == 0 ? ".json.damaged-0000000\(value & 7)" : " (Conflicted Copy).json"))
        case 5: copy(one, as: String(one.path.dropLast(5)) + ".sync-conflict-\(value & 3).json")
        case 6: copy(one, as: String(one.path.dropLast(5)) + ".json.damaged-0000000\(value & 7)", flipping: place)
        case 7:
            let other = cloud.documents[Int(value) % cloud.documents.count]
            image.damage(path) { $0 = other.bytes }
        default: forge(one, place, value)
        }
    }

    private mutating func remove(_ path: String) {
        let (folder, name) = split(path)
        image.change(directory: folder) { $0[name] = nil }
    }

    private mutating func copy(_ one: (path: String, bytes: [UInt8]), as path: String, flipping place: Int? = nil) {
        var bytes = one.bytes
        if let place { bytes[place] ^= 1 }
        let (folder, name) = split(path)
        nextNode += 1
        image.make(nextNode, isDirectory: false)
        image.change(file: nextNode) { $0 = bytes }
        image.change(directory: folder) { [nextNode] in $0[name] = nextNode }
    }

    /// Changes a byte of the body and seals it anew.
    private mutating func forge(_ one: (path: String, bytes: [UInt8]), _ place: Int, _ value: UInt8) {
        let name = one.path.hasPrefix("commits") ? CommitDocument.sealName : CheckpointDocument.sealName
        guard var body = try? Array(ChecksummedDocument.body(of: one.bytes, named: name, at: one.path)) else { return }
        body[place % body.count] = value
        isForged = true
        image.damage("\(FuzzCloud.zone)/\(one.path)") { $0 = ChecksummedDocument.seal(Data(body), named: name) }
    }

    private func split(_ path: String) -> (folder: Int, name: String) {
        let parts = path.split(separator: "/").map(String.init)
        return (image.number(of: "\(FuzzCloud.zone)/\(parts[0])") ?? 0, parts[parts.count - 1])
    }
}
