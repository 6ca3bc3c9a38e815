/// One promise of the contract, and the code that checks it.
package struct ContractCheck: Sendable, CustomStringConvertible {
    /// The promise as a name: `aLostRaceIsTold`.
    package let name: String
    let body: @Sendable (ContractTest) async throws -> Void

    init(_ name: String, _ body: @escaping @Sendable (ContractTest) async throws -> Void) { (self.name, self.body) = (name, body) }

    package var description: String { name }
}
