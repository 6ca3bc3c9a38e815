package import CloudStore
package import StrictText

/// Where the files of one zone's history come from: a directory, memory, an object store.
///
/// Bytes are handed over unchecked; ``HistoryReader`` checks them. nil means that there is no such file.
package protocol HistorySource {
    var history: HistoryID { get }
    /// What was verified before, by whoever opened the cloud.
    var ends: VerifiedHeadCache { get }
    /// What the opener of the cloud knows and trusts of the zone, if it is a signed one. A source of unsigned zones alone leaves this to the default.
    var authority: ZoneAuthority { get }
    func commitBytes(_ number: Int) throws -> [UInt8]?
    /// A commit that was read a moment ago, without another look; nil if it was not. A source that is near leaves this to the default.
    func recentCommitBytes(_ number: Int) -> [UInt8]?
    func checkpointBytes(_ number: Int) throws -> [UInt8]?
    /// The numbers of the commits that are there, ascending. The one listing; used on a first visit and to explain a gap.
    func commitNumbers() throws -> [Int]
    /// The numbers of the checkpoints that are there, ascending.
    func checkpointNumbers() throws -> [Int]
    /// Sees that the next look for a commit finds what other machines have put in place. A source without a cache leaves this to the default.
    func refreshCommits() throws
    /// Sees that the commits that are there stay there, whoever put them in place. A source whose commits always do leaves this to
    /// the default.
    func makeCommitsDurable() throws
}

extension HistorySource {
    package var authority: ZoneAuthority { ZoneAuthority() }
    package func recentCommitBytes(_ number: Int) -> [UInt8]? { nil }
    package func refreshCommits() throws {}
    package func makeCommitsDurable() throws {}
}

/// How putting a file in place where nothing may be replaced has ended.
package enum Placement {
    /// The file is there, durable, and was put there now.
    case placed
    /// The very same bytes were there already, from an earlier attempt perhaps; they are durable.
    case wasThere
    /// Other bytes are there.
    case taken
}

/// A ``HistorySource`` that can be added to. The one demand on a backend: *put if absent*.
package protocol HistoryStore: HistorySource {
    /// Puts the commit's file in place if nothing is there; refuses a clock that is a day off the store's own.
    func placeCommit(_ bytes: [UInt8], number: Int, clock: Instant) throws -> Placement
    /// Takes away a commit that was placed just now and found void.
    func removeCommit(_ number: Int) throws
    func placeCheckpoint(_ bytes: [UInt8], number: Int) throws -> Placement
    /// Whether the asset and its index are there, in their sizes.
    func hasAsset(_ asset: CloudAsset, at path: AssetPath) throws -> Bool
    /// The files of history and assets as a listing shows them, in no order.
    func storedFiles() throws -> [StoredFile]
    /// The store's own clock.
    func clock() throws -> Instant
    /// Takes a file away, by its path beneath the zone; nothing happens if it is not there.
    func removeFile(_ path: String) throws
    /// Makes removals in a directory beneath the zone durable.
    func synchronizeRemovals(in directory: String) throws
}
