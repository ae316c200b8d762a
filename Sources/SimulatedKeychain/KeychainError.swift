internal import PrivateFiles
internal import Diagnostics
internal import GRDB

/// The reason why the keychain failed, with the codes of Apple's Security framework.
package struct KeychainError: Failure {
    /// The codes, each with the number (`OSStatus`) and the name of Apple's `SecBase.h`.
    package enum Code: Int32, Sendable, Hashable, CaseIterable {
        /// `errSecDiskFull`
        case diskFull = -34
        /// `errSecIO`
        case io = -36
        /// `errSecParam`: an invalid argument.
        case param = -50
        /// `errSecNotAvailable`: other processes kept the keychain busy for too long.
        case notAvailable = -25291
        /// `errSecReadOnly`
        case readOnly = -25292
        /// `errSecInvalidKeychain`: the database or its key is damaged or missing.
        case invalidKeychain = -25295
        /// `errSecDuplicateItem`
        case duplicateItem = -25299
        /// `errSecItemNotFound`
        case itemNotFound = -25300
        /// `errSecDataTooLarge`
        case dataTooLarge = -25302
        /// `errSecInteractionNotAllowed`: the item's accessibility does not permit access in the device's state.
        case interactionNotAllowed = -25308
        /// `errSecDecode`: an item was altered or moved, and cannot be decrypted.
        case decode = -26275
        /// `errSecInternalError`: a bug in the program.
        case internalError = -26276
        /// `errSecIncompatibleVersion`: the keychain was created by a newer version.
        case incompatibleVersion = -67704
        /// `errSecMissingEntitlement`
        case missingEntitlement = -34018

        /// The number as Apple's `OSStatus`.
        package var status: Int32 { rawValue }

        /// The name of Apple's constant, such as `errSecItemNotFound`.
        package var name: String {
            switch self {
            case .diskFull: "errSecDiskFull"
            case .io: "errSecIO"
            case .param: "errSecParam"
            case .notAvailable: "errSecNotAvailable"
            case .readOnly: "errSecReadOnly"
            case .invalidKeychain: "errSecInvalidKeychain"
            case .duplicateItem: "errSecDuplicateItem"
            case .itemNotFound: "errSecItemNotFound"
            case .dataTooLarge: "errSecDataTooLarge"
            case .interactionNotAllowed: "errSecInteractionNotAllowed"
            case .decode: "errSecDecode"
            case .internalError: "errSecInternalError"
            case .incompatibleVersion: "errSecIncompatibleVersion"
            case .missingEntitlement: "errSecMissingEntitlement"
            }
        }
    }

    /// Details that the code of a failure does not contain.
    package enum Detail: Sendable, Hashable {
        /// The item is available only while the device has a passcode, and no passcode is set.
        case needsPasscode
        /// An interrupted writer left a write-ahead log, which cannot be replayed on read-only storage.
        case interruptedWriter
        /// The reason why the app may not use the access group.
        case entitlement(EntitlementGap)
    }

    /// The kind of failure.
    package let code: Code
    /// One sentence about the failure, in lower case, without a full stop and without any item's contents.
    package let reason: String
    /// Details that the code does not contain; nil for most errors.
    package let detail: Detail?
    /// The underlying error: a `FileError` or a database error; nil if the keychain itself rejected the
    /// operation.
    package let cause: (any Error)?

    init(_ code: Code, _ reason: String, detail: Detail? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.reason = reason
        self.detail = detail
        self.cause = cause
    }

    /// Translates an error of a file or the database.
    init(_ error: any Error) {
        switch error {
        case let error as KeychainError: self = error
        case let error as FileError: self.init(.io, error.reason, cause: error)
        case let error as DatabaseError: self.init(error)
        default: self.init(.internalError, "\(error)", cause: error)
        }
    }

    /// The error for a file system that has no room for the keychain. Even reading needs room, for SQLite's shared
    /// memory.
    static func noSpace(_ cause: any Error) -> KeychainError {
        KeychainError(
            .diskFull, "there is no space left on the keychain's file system", cause: cause)
    }

    private init(_ error: DatabaseError) {
        // The full description could quote a statement's arguments, so only the message is used.
        let words = error.message ?? "error \(error.resultCode.rawValue)"
        switch error.resultCode {
        case .SQLITE_FULL: self = .noSpace(error)
        case .SQLITE_READONLY, .SQLITE_PERM:
            self.init(.readOnly, "the keychain cannot be written: \(words)", cause: error)
        case .SQLITE_IOERR, .SQLITE_CANTOPEN, .SQLITE_NOLFS:
            self.init(.io, "the keychain's file cannot be accessed: \(words)", cause: error)
        // SQLITE_ERROR means that a statement does not match the tables. Our statements match our tables, so the file
        // was altered.
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FORMAT, .SQLITE_SCHEMA, .SQLITE_ERROR:
            self.init(.invalidKeychain, "the keychain's file is damaged: \(words)", cause: error)
        case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL:
            self.init(.notAvailable, "the keychain is busy: \(words)", cause: error)
        case .SQLITE_TOOBIG: self.init(.dataTooLarge, "the item is too large", cause: error)
        default:
            self.init(.internalError, "the keychain's database reported an error: \(words)", cause: error)
        }
    }
}

extension KeychainError {
    /// The reason why the app may not use the access group; nil for other errors, or if unknown.
    package var gap: EntitlementGap? {
        guard case .entitlement(let gap) = detail else { return nil }
        return gap
    }

    /// The reason, followed by the name and number of Apple's status in brackets.
    package var description: String { "\(reason) (\(code.name), \(code.status))" }
}
