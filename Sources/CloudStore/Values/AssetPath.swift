/// The components of an asset's path beneath its zone: `assets/<record>/<20 digits>-<8 hex>[.changes].json.gz`.
///
/// The path comes from a commit, which anybody may have written. A path that does not match this grammar exactly is never opened.
public struct AssetPath: Hashable, Sendable {
    /// The record that the asset belongs to; also the directory's name.
    public let record: String
    /// The number of the commit that the asset was made for.
    public let number: Int
    /// 8 hexadecimal digits that distinguish two attempts at the same number.
    public let nonce: String
    public let kind: AssetKind

    package init(record: String, number: Int, nonce: String, kind: AssetKind) {
        (self.record, self.number, self.nonce, self.kind) = (record, number, nonce, kind)
    }

    /// Parses a path; nil if it is not the path of an asset.
    public init?(_ path: String) {
        let bytes = path.utf8, name = CloudNames.assets.utf8
        guard bytes.starts(with: name) else { return nil }
        let rest = bytes.dropFirst(name.count)
        guard rest.first == UInt8(ascii: "/"), let slash = rest.dropFirst().firstIndex(of: UInt8(ascii: "/")) else { return nil }
        let record = String(Substring(rest.dropFirst()[..<slash])), stem = rest[slash...].dropFirst(), ending = stem.dropFirst(29)
        guard CloudNames.isName(record), let kind = [AssetKind.changes, .snapshot].first(where: { ending.elementsEqual($0.suffix.utf8) }),
            let number = CloudNames.number(ofDigits: stem.prefix(20)), stem.dropFirst(20).first == UInt8(ascii: "-"),
            CloudNames.isHex(stem.prefix(29).suffix(8))
        else { return nil }
        self.init(record: record, number: number, nonce: String(Substring(stem.prefix(29).suffix(8))), kind: kind)
    }

    /// The asset's file name.
    package var fileName: String { stem + kind.suffix }
    /// What the file name begins with: number and nonce, which name the asset.
    package var stem: String { "\(CloudNames.digits(number))-\(nonce)" }
    /// The file name of the asset's block index: `.index.json` in place of `.json.gz`.
    package var indexFileName: String { String(fileName.dropLast(AssetKind.snapshot.suffix.count)) + ".index.json" }
    /// The directory of the record's assets, beneath the zone.
    public var directory: String { "\(CloudNames.assets)/\(record)" }
    /// The asset's path beneath the zone.
    public var path: String { "\(directory)/\(fileName)" }
    /// The index's path beneath the zone.
    package var indexPath: String { "\(directory)/\(indexFileName)" }
}

extension AssetKind {
    fileprivate var suffix: String {
        switch self {
        case .snapshot: ".json.gz"
        case .changes: ".changes.json.gz"
        }
    }
}
