public import CloudStore

/// A cloud whose stored files a test can change, for the checks of the part ``ConformancePart/files``.
///
/// The paths are those of docs/cloud-directory.md beneath a zone: `commits/00000000000000000001.json`, `assets/item/….json.gz`,
/// `messages/<sender>/<id>.json`. A backend that stores other documents need not implement this.
public protocol DamageableCloud: Sendable {
    /// The cloud.
    var cloud: any CloudDatabase { get }
    /// The distance between two places of a file that a check damages; 1 damages every place in turn. Set a larger value for a slow cloud.
    var damageStride: Int { get }
    /// Changes the bytes of a file, named by its path beneath the zone. nil, before or after, stands for a file that does not exist.
    func damage(_ path: String, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) throws
}
