#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The terminal that the process was started from, also where its input and output go elsewhere.
package enum Terminal {
    /// How many columns the terminal behind a descriptor has; nil where there is none, or it does not say.
    package static func width(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Asks for a line that is not shown while it is typed.
    ///
    /// - Parameter limit: how many bytes are kept of it.
    /// - Returns: the line without its end; nil if the process has no terminal, or the line ends before it begins.
    package static func askHidden(_ prompt: String, limit: Int) -> [UInt8]? {
        let descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var shown = termios()
        guard tcgetattr(descriptor, &shown) == 0 else { return nil }
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        // What was typed before the question is no answer.
        guard tcsetattr(descriptor, TCSAFLUSH, &hidden) == 0 else { return nil }
        defer {
            _ = tcsetattr(descriptor, TCSAFLUSH, &shown)
            print("\n", to: descriptor)
        }
        print(prompt, to: descriptor)
        var line = [UInt8](), byte: UInt8 = 0
        // One allocation, so that no copy of a secret stays behind.
        line.reserveCapacity(limit)
        while true {
            guard let count = try? System.retrying("read", { read(descriptor, &byte, 1) }), count == 1 else { return line.isEmpty ? nil : line }
            if byte == UInt8(ascii: "\n") { return line }
            if line.count < limit { line.append(byte) }
        }
    }

    private static func print(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { _ = write(descriptor, $0.baseAddress, $0.count) }
    }
}
