/// One promise of the contract, and the code that checks it.
public struct ContractCheck: Sendable, CustomStringConvertible {
    /// The promise as a name: `aLostRaceIsTold`.
    public let name: String
    let body: @Sendable (ContractTest) async throws -> Void

    init(_ name: String, _ body: @escaping @Sendable (ContractTest) async throws -> Void) { (self.name, self.body) = (name, body) }

    public var description: String { name }
}
