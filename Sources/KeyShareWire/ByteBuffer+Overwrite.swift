private import Glibc
package import NIOCore

extension ByteBuffer {
    /// Overwrites all readable bytes of this buffer with zeros, in place.
    ///
    /// Call it on the memory of a password after the password has been sent or decoded. `explicit_bzero` (bzero(3)) is
    /// used because the optimizer may remove a `memset` on memory that is not read again. The write bypasses
    /// copy-on-write deliberately: every buffer that shares the memory loses the bytes, and no such buffer is read again.
    package func overwrite() {
        unsafe withUnsafeReadableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            unsafe explicit_bzero(UnsafeMutableRawPointer(mutating: start), bytes.count)
        }
    }
}
