/// One promise of the contract, and how it is looked at.
public struct ConformanceCheck: Sendable, CustomStringConvertible {
    /// The promise as a name: `aLostRaceIsTold`.
    public let name: String
    let body: @Sendable (ConformanceContext) async throws -> Void

    init(_ name: String, _ body: @escaping @Sendable (ConformanceContext) async throws -> Void) {
        self.name = name
        self.body = body
    }

    public var description: String { name }
}
