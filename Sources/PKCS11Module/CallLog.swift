internal import CPKCS11
private import Glibc
internal import Synchronization
internal import TokenClient

/// A log of PKCS #11 calls, for diagnosing return codes. It is written to the file that `KEYSHARE_PKCS11_LOG` names, or
/// to standard error if the variable is `stderr`.
///
/// The log contains names of functions and mechanisms, handles, lengths and reasons, but never data, a PIN or a
/// person's name. The file is opened for each line, because the host program may close descriptors that it did not
/// open.
final class CallLog: Sendable {
    private let target = Mutex<String?>(nil)
    private let isOn = Atomic<Bool>(false)

    /// Reads `KEYSHARE_PKCS11_LOG`.
    func configure() {
        let name = ProviderPlace.environment("KEYSHARE_PKCS11_LOG")
        target.withLock { $0 = name }
        isOn.store(name != nil, ordering: .releasing)
    }

    /// Writes a line with a call's return code and reason, if the log is enabled.
    func note(_ function: @autoclosure () -> String, _ code: CK_RV, _ reason: String) {
        write { "\(function()): \(Self.name(of: code))" + (reason.isEmpty ? "" : ", " + reason) }
    }

    /// Writes a line about an event that no return code reports, if the log is enabled.
    func remark(_ text: @autoclosure () -> String) {
        write { "note: " + text() }
    }

    private func write(_ text: () -> String) {
        guard isOn.load(ordering: .acquiring), let target = target.withLock({ $0 }) else { return }
        let words = text().unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : String($0) }
        write(Array("\(getpid()) \(words.joined())\n".utf8), to: target)
    }

    private func write(_ line: [UInt8], to target: String) {
        let isStandardError = target == "stderr"
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK
        let descriptor = isStandardError ? STDERR_FILENO : unsafe open(target, flags, 0o600)
        guard descriptor >= 0 else { return }
        _ = unsafe line.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        if !isStandardError { close(descriptor) }
    }

    private static func name(of code: CK_RV) -> String {
        names.first { $0.0 == code }?.1 ?? "0x" + String(code, radix: 16)
    }

    private static let names: [(CK_RV, String)] = [
        (CKR_OK, "CKR_OK"), (CKR_SLOT_ID_INVALID, "CKR_SLOT_ID_INVALID"),
        (CKR_GENERAL_ERROR, "CKR_GENERAL_ERROR"), (CKR_ARGUMENTS_BAD, "CKR_ARGUMENTS_BAD"),
        (CKR_NO_EVENT, "CKR_NO_EVENT"), (CKR_CANT_LOCK, "CKR_CANT_LOCK"),
        (CKR_ATTRIBUTE_READ_ONLY, "CKR_ATTRIBUTE_READ_ONLY"),
        (CKR_ATTRIBUTE_SENSITIVE, "CKR_ATTRIBUTE_SENSITIVE"),
        (CKR_ATTRIBUTE_TYPE_INVALID, "CKR_ATTRIBUTE_TYPE_INVALID"),
        (CKR_ATTRIBUTE_VALUE_INVALID, "CKR_ATTRIBUTE_VALUE_INVALID"),
        (CKR_ACTION_PROHIBITED, "CKR_ACTION_PROHIBITED"), (CKR_DATA_LEN_RANGE, "CKR_DATA_LEN_RANGE"),
        (CKR_DEVICE_ERROR, "CKR_DEVICE_ERROR"), (CKR_DEVICE_REMOVED, "CKR_DEVICE_REMOVED"),
        (CKR_ENCRYPTED_DATA_INVALID, "CKR_ENCRYPTED_DATA_INVALID"),
        (CKR_ENCRYPTED_DATA_LEN_RANGE, "CKR_ENCRYPTED_DATA_LEN_RANGE"),
        (CKR_FUNCTION_CANCELED, "CKR_FUNCTION_CANCELED"),
        (CKR_FUNCTION_NOT_PARALLEL, "CKR_FUNCTION_NOT_PARALLEL"),
        (CKR_FUNCTION_NOT_SUPPORTED, "CKR_FUNCTION_NOT_SUPPORTED"),
        (CKR_KEY_HANDLE_INVALID, "CKR_KEY_HANDLE_INVALID"),
        (CKR_KEY_TYPE_INCONSISTENT, "CKR_KEY_TYPE_INCONSISTENT"),
        (CKR_KEY_FUNCTION_NOT_PERMITTED, "CKR_KEY_FUNCTION_NOT_PERMITTED"),
        (CKR_MECHANISM_INVALID, "CKR_MECHANISM_INVALID"),
        (CKR_MECHANISM_PARAM_INVALID, "CKR_MECHANISM_PARAM_INVALID"),
        (CKR_OBJECT_HANDLE_INVALID, "CKR_OBJECT_HANDLE_INVALID"),
        (CKR_OPERATION_ACTIVE, "CKR_OPERATION_ACTIVE"),
        (CKR_OPERATION_NOT_INITIALIZED, "CKR_OPERATION_NOT_INITIALIZED"),
        (CKR_PIN_INCORRECT, "CKR_PIN_INCORRECT"), (CKR_PIN_LEN_RANGE, "CKR_PIN_LEN_RANGE"),
        (CKR_PIN_LOCKED, "CKR_PIN_LOCKED"), (CKR_SESSION_COUNT, "CKR_SESSION_COUNT"),
        (CKR_SESSION_HANDLE_INVALID, "CKR_SESSION_HANDLE_INVALID"),
        (CKR_SESSION_PARALLEL_NOT_SUPPORTED, "CKR_SESSION_PARALLEL_NOT_SUPPORTED"),
        (CKR_SESSION_READ_ONLY, "CKR_SESSION_READ_ONLY"),
        (CKR_TOKEN_WRITE_PROTECTED, "CKR_TOKEN_WRITE_PROTECTED"),
        (CKR_TEMPLATE_INCOMPLETE, "CKR_TEMPLATE_INCOMPLETE"),
        (CKR_TEMPLATE_INCONSISTENT, "CKR_TEMPLATE_INCONSISTENT"),
        (CKR_TOKEN_NOT_PRESENT, "CKR_TOKEN_NOT_PRESENT"),
        (CKR_USER_ALREADY_LOGGED_IN, "CKR_USER_ALREADY_LOGGED_IN"),
        (CKR_USER_NOT_LOGGED_IN, "CKR_USER_NOT_LOGGED_IN"),
        (CKR_USER_PIN_NOT_INITIALIZED, "CKR_USER_PIN_NOT_INITIALIZED"),
        (CKR_USER_TYPE_INVALID, "CKR_USER_TYPE_INVALID"),
        (CKR_USER_ANOTHER_ALREADY_LOGGED_IN, "CKR_USER_ANOTHER_ALREADY_LOGGED_IN"),
        (CKR_SESSION_READ_ONLY_EXISTS, "CKR_SESSION_READ_ONLY_EXISTS"),
        (CKR_KEY_NOT_NEEDED, "CKR_KEY_NOT_NEEDED"), (CKR_KEY_INDIGESTIBLE, "CKR_KEY_INDIGESTIBLE"),
        (CKR_RANDOM_SEED_NOT_SUPPORTED, "CKR_RANDOM_SEED_NOT_SUPPORTED"),
        (CKR_SAVED_STATE_INVALID, "CKR_SAVED_STATE_INVALID"),
        (CKR_STATE_UNSAVEABLE, "CKR_STATE_UNSAVEABLE"),
        (CKR_BUFFER_TOO_SMALL, "CKR_BUFFER_TOO_SMALL"),
        (CKR_CRYPTOKI_NOT_INITIALIZED, "CKR_CRYPTOKI_NOT_INITIALIZED"),
        (CKR_CRYPTOKI_ALREADY_INITIALIZED, "CKR_CRYPTOKI_ALREADY_INITIALIZED"),
        (CKR_FUNCTION_REJECTED, "CKR_FUNCTION_REJECTED"),
    ]
}
