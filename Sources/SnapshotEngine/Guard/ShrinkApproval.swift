/// Which datasets may become much smaller: what a person, or an app's own "clear all", has agreed to beforehand.
///
///     let report = try await engine.export(allowing: .datasets("notifications"))
public struct ShrinkApproval: Sendable, Hashable {
    private enum Extent: Sendable, Hashable {
        case named(Set<String>)
        case all
    }

    private let extent: Extent

    /// No dataset: what a run that nobody watches says.
    public static let none = ShrinkApproval(extent: .named([]))
    /// Every dataset.
    public static let all = ShrinkApproval(extent: .all)

    /// The datasets with these names.
    public static func datasets(_ names: String...) -> ShrinkApproval { datasets(names) }

    /// The datasets with these names.
    public static func datasets(_ names: some Sequence<String>) -> ShrinkApproval { ShrinkApproval(extent: .named(Set(names))) }

    /// Whether the dataset of that name may shrink.
    public func covers(_ dataset: String) -> Bool {
        switch extent {
        case .all: true
        case .named(let names): names.contains(dataset)
        }
    }

    /// The names that are not among `known`: misspelt ones, most likely.
    func unknownNames(among known: [String]) -> [String] {
        switch extent {
        case .all: []
        case .named(let names): names.subtracting(known).sorted()
        }
    }

    /// What a commit says for it: `shrink:notifications_data`.
    static func text(ofRecord name: String) -> String { "shrink:\(name)" }
}
