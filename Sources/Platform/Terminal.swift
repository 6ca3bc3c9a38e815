import Foundation

/// The terminal of the process, even if its input and output are redirected.
package enum Terminal {
    /// How many columns the terminal of a descriptor has; nil if there is no terminal or the number is unknown.
    package static func width(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Asks for a line without showing what is typed.
    ///
    /// - Parameter limit: the most bytes of the line that are kept.
    /// - Returns: the line without its newline; nil if the process has no terminal, or if the input ends before the first byte.
    package static func askHidden(_ prompt: String, limit: Int) -> [UInt8]? {
        let descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var shown = termios()
        guard tcgetattr(descriptor, &shown) == 0 else { return nil }
        var hidden = shown
        // Without ISIG, Ctrl-C arrives as a byte: a signal would end the process and leave the terminal without echo.
        hidden.c_lflag &= ~tcflag_t(ECHO | ISIG)
        // Discard what was typed before the prompt.
        guard tcsetattr(descriptor, TCSAFLUSH, &hidden) == 0 else { return nil }
        var isInterrupted = false
        defer {
            _ = tcsetattr(descriptor, TCSAFLUSH, &shown)
            print("\n", to: descriptor)
            if isInterrupted { raise(SIGINT) }
        }
        print(prompt, to: descriptor)
        let interrupt: UInt8 = 3
        var line = [UInt8](), byte: UInt8 = 0
        // Reserve the memory once, so that no copy of a secret stays behind in freed memory.
        line.reserveCapacity(limit)
        while true {
            guard let count = try? System.retrying("read", { read(descriptor, &byte, 1) }), count == 1 else { return line.isEmpty ? nil : line }
            if byte == UInt8(ascii: "\n") { return line }
            if byte == interrupt {
                isInterrupted = true
                return nil
            }
            if line.count < limit { line.append(byte) }
        }
    }

    private static func print(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { _ = write(descriptor, $0.baseAddress, $0.count) }
    }
}
