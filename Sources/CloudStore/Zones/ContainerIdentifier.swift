/// `iCloud.` and the reverse-DNS name of an application: which app a cloud belongs to.
///
///     let container = try ContainerIdentifier("iCloud.org.example.food")
///     try await container.verify(cloud)
public struct ContainerIdentifier: Hashable, Sendable, CustomStringConvertible {
    /// The whole identifier.
    public let description: String

    /// Checks an identifier.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments` if it is not `iCloud.` and a name of two or more parts.
    public init(_ text: String) throws(CloudError) {
        guard CloudNames.isContainer(text), text.utf8.count(where: { $0 == UInt8(ascii: ".") }) >= 2 else {
            throw CloudError(
                .invalidArguments, at: "container", "not a container identifier",
                hint: "use iCloud. and the reverse-DNS name of the application: iCloud.org.example.app")
        }
        description = text
    }

    /// Refuses a cloud of another app.
    ///
    /// - Throws: ``CloudError`` with `.badContainer` for another app's cloud; one that is not there at all gives what the cloud itself
    ///   says: `.cloudUnavailable` or `.notACloud`.
    public func verify(_ cloud: some CloudDatabase) async throws {
        let found = try await cloud.identity().container
        guard found == description else {
            throw CloudError(
                .badContainer, at: "container", "the cloud belongs to \(found), not to \(self)", hint: "check the path and the container identifier")
        }
    }
}
