import Foundation

/// How much of a long series of random tests runs: all with `make torture`, else a part.
package enum Sample {
    /// Whether `make torture` runs the tests.
    package static let isWhole = ProcessInfo.processInfo.environment["SNAPSYNC_TORTURE"] != nil

    /// Every `share`-th element, from the first one on.
    package static func of<Elements: Collection>(_ all: Elements, oneIn share: Int) -> [Elements.Element] {
        isWhole ? Array(all) : all.enumerated().filter { $0.offset % share == 0 }.map(\.element)
    }
}
