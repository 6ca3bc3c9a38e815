/// A value on its way to the one thread that uses it until that thread has ended.
package struct UnsafeTransfer<Value>: @unchecked Sendable {
    // SAFETY: the sender waits, or does not touch the value, while the receiver's thread has it.
    package let value: Value

    package init(_ value: Value) { self.value = value }
}
