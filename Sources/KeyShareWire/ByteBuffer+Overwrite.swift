private import Glibc
package import NIOCore

extension ByteBuffer {
    /// Writes zeros over all readable memory of this buffer, in place.
    ///
    /// `explicit_bzero` (bzero(3)) is never optimised away. Writing past copy-on-write is intended: every other holder
    /// of this heap block loses the bytes too, and nobody reads the block again, because it has been sent or decoded.
    package func overwrite() {
        unsafe withUnsafeReadableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            unsafe explicit_bzero(UnsafeMutableRawPointer(mutating: start), bytes.count)
        }
    }
}
