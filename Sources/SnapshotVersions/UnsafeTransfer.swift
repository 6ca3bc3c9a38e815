/// Transfers a value to another thread that has exclusive use of it until it ends.
package struct UnsafeTransfer<Value>: @unchecked Sendable {
    // SAFETY: while the receiver's thread has the value, the sender waits or does not touch it.
    package let value: Value

    package init(_ value: Value) { self.value = value }
}
