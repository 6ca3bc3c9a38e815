/// A cloud as the engine needs it: records and commits, mailbox and reports, retention.
///
/// A backend implements the three protocols. The package has backends for a directory, a bucket of an object store, CloudKit, and memory.
/// They are tested with the contract's suite, the module CloudStoreConformance.
public protocol CloudDatabase: RecordDatabase, MailboxDatabase, RetentionDatabase {}
