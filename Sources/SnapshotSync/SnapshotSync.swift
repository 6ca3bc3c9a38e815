/// What an application needs: `import SnapshotSync` brings these types, with all their members, and no other names of the modules.
///
/// A program that names more of a module's types imports that module, too.

// The engine.
@_exported public import class SnapshotEngine.SyncEngine
@_exported public import struct SnapshotEngine.EngineOptions
@_exported public import struct SnapshotEngine.SyncLocation
@_exported public import struct SyncRuns.SyncProgress
@_exported public import struct SyncRuns.SyncReport
@_exported public import struct SyncRuns.ExportReport
@_exported public import struct SyncRuns.ImportReport
@_exported public import struct SyncRuns.ShrinkApproval
@_exported public import struct SnapshotEngine.ChannelMessage
@_exported public import enum SnapshotWatch.SyncState
@_exported public import enum SnapshotWatch.WatchEvent
@_exported public import struct SnapshotWatch.WatchOptions

// Setting a database up, and opening one that may be damaged.
@_exported public import struct SnapshotEngine.SetupReport
@_exported public import struct SnapshotEngine.SetupRequest
@_exported public import struct SnapshotEngine.TableChoice
@_exported public import enum SnapshotEngine.ReaderEdits
@_exported public import struct SnapshotEngine.RetentionPolicy
@_exported public import class SnapshotEngine.SnapshotStore
@_exported public import struct SnapshotEngine.OpeningReport

// Whether to sync.
@_exported public import class CloudStore.CloudAccount
@_exported public import struct SnapshotEngine.Entitlement
@_exported public import protocol SnapshotEngine.EntitlementProvider
@_exported public import struct SnapshotEngine.FileEntitlement
@_exported public import class SnapshotEngine.PushedEntitlement
@_exported public import struct SnapshotEngine.BoundPreference
@_exported public import struct SnapshotEngine.DefaultsPreference
@_exported public import protocol SnapshotEngine.PreferenceBinding
@_exported public import enum SnapshotEngine.GateDecision
@_exported public import struct SnapshotEngine.GateOptions
@_exported public import struct SnapshotEngine.GateReason
@_exported public import struct SnapshotEngine.SyncGate

// Values.
@_exported public import struct SnapshotModel.DatasetChanges
@_exported public import protocol SnapshotModel.DatasetContainer
@_exported public import enum SnapshotModel.EntityKey
@_exported public import enum SnapshotModel.SyncChoice
@_exported public import enum SnapshotModel.SyncRole

// Versions and conflicts.
@_exported public import struct SnapshotHistory.ConflictsReport
@_exported public import struct SnapshotHistory.SyncConflicts
@_exported public import struct SnapshotEngine.SyncVersions
@_exported public import struct SnapshotHistory.HistoryReport
@_exported public import struct SnapshotHistory.RestoreReport
@_exported public import enum SnapshotHistory.RestoreTarget

// Errors.
@_exported public import enum CloudStore.ErrorLanguage
@_exported public import struct CloudStore.PresentableError
@_exported public import struct StrictText.SyncError
