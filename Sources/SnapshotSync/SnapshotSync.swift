/// Everything that an application needs: `import SnapshotSync` brings the engine, its tools, sharing, watching and the facade in CloudKit's words.
///
/// An application that needs only a part can import that module alone.
@_exported public import CloudKitFacade
@_exported public import ObjectCloud
@_exported public import ProjectSharing
@_exported public import SnapshotEngine
@_exported public import SnapshotQuery
@_exported public import SnapshotTools
@_exported public import SnapshotVersions
@_exported public import SnapshotWatch
@_exported public import StrictText
