package import CloudStore
package import StrictText

/// The files of one zone's history: in a directory, in memory, or in an object store.
///
/// A source returns bytes without checking them; ``HistoryReader`` checks them. nil means that there is no such file.
package protocol HistorySource {
    var history: HistoryID { get }
    /// The ends of the logs that were verified since the cloud was opened.
    var ends: VerifiedHeadCache { get }
    /// What this device knows and trusts of a signed zone. A source that supports only unsigned zones can use the default.
    var authority: ZoneAuthority { get }
    func commitBytes(_ number: Int) throws -> [UInt8]?
    /// The commits of these numbers. A remote source reads them in parallel; a local source can use the default.
    func commitBytes(_ numbers: ClosedRange<Int>) throws -> [[UInt8]?]
    /// How many commits to request at once from `number` on, after `found` commits were found before it. A local source can use the default,
    /// 1.
    func readWidth(at number: Int, after found: Int) -> Int
    func checkpointBytes(_ number: Int) throws -> [UInt8]?
    /// The numbers of the commits that are there, ascending.
    func commitNumbers() throws -> [Int]
    /// The number of the newest commit; nil if there is none. Used on a first visit and to explain a gap. The default lists all commits.
    func newestCommitNumber() throws -> Int?
    /// The numbers of the checkpoints that are there, ascending.
    func checkpointNumbers() throws -> [Int]
    /// Makes the next read of a commit see what other machines have written. A source without a cache can use the default.
    func refreshCommits() throws
    /// Makes the commits in the store durable, whichever device wrote them. A source whose commits are always durable can use the default.
    func makeCommitsDurable() throws
}

extension HistorySource {
    package var authority: ZoneAuthority { ZoneAuthority() }
    package func newestCommitNumber() throws -> Int? { try commitNumbers().last }
    package func commitBytes(_ numbers: ClosedRange<Int>) throws -> [[UInt8]?] { try numbers.map { try commitBytes($0) } }
    package func readWidth(at number: Int, after found: Int) -> Int { 1 }

    /// Passes the commits from `number` on to `body`, up to the first one that is not there.
    ///
    /// - Parameter last: the last number to request; nil continues to the end.
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

/// The outcome of placing a file where an existing file must not be replaced.
public enum Placement: Sendable {
    /// The file was placed now, and is durable.
    case placed
    /// The same bytes were already there, perhaps from an earlier attempt; they are durable.
    case wasThere
    /// Other bytes are there.
    case taken
}

/// A ``HistorySource`` that can be written to. The one requirement on a backend is *put if absent*.
package protocol HistoryStore: HistorySource {
    /// Places the commit's file if its name is free. Refuses a clock that differs from the store's own by a day or more.
    func placeCommit(_ bytes: [UInt8], number: Int, clock: Instant) throws -> Placement
    /// Removes a commit that was placed just now and turned out to be invalid.
    func removeCommit(_ number: Int) throws
    func placeCheckpoint(_ bytes: [UInt8], number: Int) throws -> Placement
    /// Whether the asset and its index are there with the right sizes.
    func hasAsset(_ asset: CloudAsset, at path: AssetPath) throws -> Bool
    /// Returns the first of commit `number`'s assets that is not there; nil if all are. The default checks each one.
    func missingAsset(of assets: [(asset: CloudAsset, path: AssetPath)], number: Int) throws -> CloudAsset?
    /// Lists the files of the history and the assets, in no particular order.
    func storedFiles() throws -> [StoredFile]
    /// The store's own clock.
    func clock() throws -> Instant
    /// Removes a file by its path beneath the zone. Does nothing if it is not there.
    func removeFile(_ path: String) throws
    /// Removes files. A store that cannot remove them in one step removes them in the given order, as the default does.
    func removeFiles(_ paths: [String]) throws
    /// Makes the removals in a directory beneath the zone durable.
    func synchronizeRemovals(in directory: String) throws
}

extension HistoryStore {
    package func missingAsset(of assets: [(asset: CloudAsset, path: AssetPath)], number: Int) throws -> CloudAsset? {
        try assets.first { try !hasAsset($0.asset, at: $0.path) }?.asset
    }

    package func removeFiles(_ paths: [String]) throws { for path in paths { try removeFile(path) } }
}
