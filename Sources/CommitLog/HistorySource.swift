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
    /// The commits of these numbers. A source that is far away reads them side by side; one that is near leaves this to the default.
    func commitBytes(_ numbers: ClosedRange<Int>) throws -> [[UInt8]?]
    /// How many commits to ask for at a time from a number on, once so many were found before it. A source that is near leaves this to the default, 1.
    func readWidth(at number: Int, after found: Int) -> Int
    /// A commit that was read a moment ago, without another look; nil if it was not. A source that is near leaves this to the default.
    func recentCommitBytes(_ number: Int) -> [UInt8]?
    /// The token's commit as it was last seen, for a look that is made to publish after it: the publisher looks once more when its own commit is
    /// in place. nil for every other look, and from a source that is near.
    func commitBytesToPublish(after token: ChangeToken) -> [UInt8]?
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
    package func commitBytes(_ numbers: ClosedRange<Int>) throws -> [[UInt8]?] { try numbers.map { try commitBytes($0) } }
    package func readWidth(at number: Int, after found: Int) -> Int { 1 }
    package func recentCommitBytes(_ number: Int) -> [UInt8]? { nil }
    package func commitBytesToPublish(after token: ChangeToken) -> [UInt8]? { nil }

    /// Hands over the commits from a number on, up to the first one that is not there.
    ///
    /// - Parameter last: the last number to ask for; nil goes on to the end.
    /// - Returns: the number after the last one that was found.
    @discardableResult
    func forEachCommit(from number: Int, upTo last: Int? = nil, _ body: ([UInt8]) throws -> Void) throws -> Int {
        var next = number
        while next <= last ?? .max {
            let read = try commitBytes(next...min(next + readWidth(at: next, after: next - number) - 1, last ?? .max))
            for bytes in read {
                guard let bytes else { return next }
                try body(bytes)
                next += 1
            }
        }
        return next
    }
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
    /// Whether others are publishing at the same time. A store that is near leaves this to the default, false.
    var isContended: Bool { get }
    /// Puts the commit's file in place if nothing is there; refuses a clock that is a day off the store's own.
    func placeCommit(_ bytes: [UInt8], number: Int, clock: Instant) throws -> Placement
    /// Takes away a commit that was placed just now and found void.
    func removeCommit(_ number: Int) throws
    func placeCheckpoint(_ bytes: [UInt8], number: Int) throws -> Placement
    /// Whether the asset and its index are there, in their sizes.
    func hasAsset(_ asset: CloudAsset, at path: AssetPath) throws -> Bool
    /// The first of the assets of commit `number` that is not there; nil if all are. The default looks at each.
    func missingAsset(of assets: [(asset: CloudAsset, path: AssetPath)], number: Int) throws -> CloudAsset?
    /// The files of history and assets as a listing shows them, in no order.
    func storedFiles() throws -> [StoredFile]
    /// The store's own clock.
    func clock() throws -> Instant
    /// Takes a file away, by its path beneath the zone; nothing happens if it is not there.
    func removeFile(_ path: String) throws
    /// Takes files away, in that order where the store cannot take them away together. The default takes one after the other.
    func removeFiles(_ paths: [String]) throws
    /// Makes removals in a directory beneath the zone durable.
    func synchronizeRemovals(in directory: String) throws
}

extension HistoryStore {
    package var isContended: Bool { false }

    package func missingAsset(of assets: [(asset: CloudAsset, path: AssetPath)], number: Int) throws -> CloudAsset? {
        try assets.first { try !hasAsset($0.asset, at: $0.path) }?.asset
    }

    package func removeFiles(_ paths: [String]) throws { for path in paths { try removeFile(path) } }
}
