internal import SecretMemory
internal import COpenSSL

/// A list of parameters for an OpenSSL call (OSSL_PARAM(3)), built entry by entry.
///
/// The list owns copies of the names and values, and wipes the values when it is freed. The C list is valid only inside
/// `withUnsafeParameters`.
@safe final class ParameterList {
    private enum Kind {
        case octets, text, number
    }

    private var entries:
        [(kind: Kind, name: UnsafeMutableRawBufferPointer, value: UnsafeMutableRawBufferPointer)]

    init() {
        unsafe entries = []
    }

    deinit {
        unsafe entries.forEach { entry in
            unsafe OPENSSL_cleanse(entry.value.baseAddress, entry.value.count)
            unsafe entry.value.deallocate()
            unsafe entry.name.deallocate()
        }
    }

    /// Adds an octet string.
    func append(_ name: String, _ value: SecretBytes) {
        unsafe value.withUnsafeBytes { unsafe append(.octets, name, $0) }
    }

    /// Adds a UTF-8 string.
    func append(_ name: String, _ value: String) {
        var value = value
        value.withUTF8 { unsafe append(.text, name, UnsafeRawBufferPointer($0)) }
    }

    /// Adds an unsigned number.
    func append(_ name: String, _ value: UInt64) {
        unsafe withUnsafeBytes(of: value) { unsafe append(.number, name, $0) }
    }

    /// Calls `body` with the C list and the terminator that OpenSSL expects.
    func withUnsafeParameters<Result>(_ body: (UnsafePointer<OSSL_PARAM>?) -> Result) -> Result {
        var list = unsafe entries.map { entry in
            let name = unsafe entry.name.baseAddress?.assumingMemoryBound(to: CChar.self)
            let value = unsafe entry.value.baseAddress
            // The terminator that `append` adds after each value is not counted.
            let count = unsafe entry.value.count - 1
            return switch unsafe entry.kind {
            case .octets: unsafe OSSL_PARAM_construct_octet_string(name, value, count)
            case .text:
                unsafe OSSL_PARAM_construct_utf8_string(
                    name, value?.assumingMemoryBound(to: CChar.self), count)
            case .number:
                unsafe OSSL_PARAM_construct_uint64(name, value?.assumingMemoryBound(to: UInt64.self))
            }
        }
        unsafe list.append(OSSL_PARAM_construct_end())
        return unsafe list.withUnsafeBufferPointer { unsafe body($0.baseAddress) }
    }

    private func append(_ kind: Kind, _ name: String, _ value: UnsafeRawBufferPointer) {
        unsafe entries.append((kind, Self.terminatedCopy(Array(name.utf8)), Self.terminatedCopy(value)))
    }

    private static func terminatedCopy(_ bytes: some Collection<UInt8>) -> UnsafeMutableRawBufferPointer {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count + 1, alignment: 8)
        unsafe copy.copyBytes(from: bytes)
        unsafe copy[bytes.count] = 0
        return unsafe copy
    }
}
