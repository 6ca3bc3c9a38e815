/// The datasets that may become much smaller: what a person, or an application's own "clear all", has approved beforehand.
///
///     let report = try await engine.export(allowing: .datasets("notifications"))
public struct ShrinkApproval: Sendable, Hashable {
    private enum Extent: Sendable, Hashable {
        case named(Set<String>)
        case all
    }

    private let extent: Extent

    /// Approves no dataset; for unattended runs.
    public static let none = ShrinkApproval(extent: .named([]))
    /// Approves every dataset.
    public static let all = ShrinkApproval(extent: .all)

    /// Approves the datasets with these names.
    public static func datasets(_ names: String...) -> ShrinkApproval { datasets(names) }

    /// Approves the datasets with these names.
    public static func datasets(_ names: some Sequence<String>) -> ShrinkApproval { ShrinkApproval(extent: .named(Set(names))) }

    /// Whether the dataset with this name may shrink.
    public func covers(_ dataset: String) -> Bool {
        switch extent {
        case .all: true
        case .named(let names): names.contains(dataset)
        }
    }

    /// Returns the approved names that are not in `known`. They are probably misspelt.
    func unknownNames(among known: [String]) -> [String] {
        switch extent {
        case .all: []
        case .named(let names): names.subtracting(known).sorted()
        }
    }

    /// Returns the approval as a commit carries it: `shrink:notifications_data`.
    static func text(ofRecord name: String) -> String { "shrink:\(name)" }
}
