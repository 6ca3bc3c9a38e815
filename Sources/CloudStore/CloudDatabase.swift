/// A cloud as the engine needs it: records and commits, mailbox and reports, retention.
///
/// A backend implements the three protocols. Three backends ship: a directory, a bucket of an object store, and memory; all pass the
/// contract's suite, the module CloudStoreConformance.
public protocol CloudDatabase: RecordDatabase, MailboxDatabase, RetentionDatabase {}
