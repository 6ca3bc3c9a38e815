enum SnapshotSyncRoom {}
