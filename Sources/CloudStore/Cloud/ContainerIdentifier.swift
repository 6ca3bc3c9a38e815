/// Names the app that a cloud belongs to: `iCloud.` and the reverse-DNS name of an application.
///
///     let container = try ContainerIdentifier("iCloud.org.example.food")
///     try await container.verify(cloud)
package struct ContainerIdentifier: Hashable, Sendable, CustomStringConvertible {
    /// The whole identifier.
    package let description: String

    /// Makes an identifier from a valid text.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments` if it is not `iCloud.` followed by a name of two or more parts.
    package init(_ text: String) throws(CloudError) {
        guard CloudNames.isContainer(text), text.utf8.count(where: { $0 == UInt8(ascii: ".") }) >= 2 else {
            throw CloudError(
                .invalidArguments, at: "container", "not a container identifier",
                hint: "use iCloud. and the reverse-DNS name of the application: iCloud.org.example.app")
        }
        description = text
    }

    /// Refuses a cloud of another app.
    ///
    /// - Throws: ``CloudError`` with `.badContainer` for another app's cloud; if there is no cloud, the cloud's own error:
    ///   `.cloudUnavailable` or `.notACloud`.
    package func verify(_ cloud: some CloudDatabase) async throws {
        try Self.verify(description, isThatOf: try await cloud.identity())
    }

    /// Refuses a cloud whose container identifier is not the expected one.
    package static func verify(_ expected: String, isThatOf cloud: CloudIdentity) throws(CloudError) {
        guard cloud.container == expected else {
            throw CloudError(
                .badContainer, at: "container", "the location belongs to \(cloud.container), not to \(expected)",
                hint: "check the path and the container identifier")
        }
    }
}
