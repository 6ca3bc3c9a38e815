enum SnapshotFormatRoom {}
