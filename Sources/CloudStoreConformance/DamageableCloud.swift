public import CloudStore

/// A cloud whose stored files a test can change, for the checks of the part ``ConformancePart/files``.
///
/// The paths are those of docs/cloud-directory.md beneath a zone: `commits/00000000000000000001.json`, `assets/item/….json.gz`,
/// `messages/<sender>/<id>.json`. A backend that stores other documents has nothing to implement here.
public protocol DamageableCloud: Sendable {
    /// The cloud.
    var cloud: any CloudDatabase { get }
    /// Of the places in a file that a check damages one by one, it tries every so many-th; 1 tries all. Larger for a cloud that takes long.
    var damageStride: Int { get }
    /// Changes the bytes of a file, named by its path beneath the zone; nil is a file that is not there, before and after.
    func damage(_ path: String, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) throws
}
