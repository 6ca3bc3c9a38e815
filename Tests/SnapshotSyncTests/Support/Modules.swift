// What the tests use, in each of their files.
@_exported import CloudKitFacade
@_exported import ProjectSharing
@_exported import SnapshotEngine
@_exported import SnapshotHistory
@_exported import SnapshotQuery
@_exported import SnapshotTools
@_exported import SnapshotVersions
@_exported import SnapshotWatch
@_exported import SyncRuns
