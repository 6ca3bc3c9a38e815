import Foundation

/// How much of a long series of random tests runs: all with `make torture`, else a part.
package enum Sample {
    /// Whether `make torture` runs the tests.
    package static let isWhole = ProcessInfo.processInfo.environment["SNAPSYNC_TORTURE"] != nil

    /// The seed that `make torture` begins at, another one each time; added to those of random tests.
    package static let firstSeed = ProcessInfo.processInfo.environment["SNAPSYNC_TORTURE_SEED"].flatMap(Int.init)

    /// Seeds, all of them or every `share`-th.
    package static func of<Seed: FixedWidthInteger>(_ seeds: ClosedRange<Seed>, oneIn share: Int) -> [Seed] {
        of(seeds.map { $0 + Seed(firstSeed ?? 0) }, oneIn: share)
    }

    /// Every `share`-th element, from the first one on.
    package static func of<Elements: Collection>(_ all: Elements, oneIn share: Int) -> [Elements.Element] {
        isWhole ? Array(all) : all.enumerated().filter { $0.offset % share == 0 }.map(\.element)
    }
}
