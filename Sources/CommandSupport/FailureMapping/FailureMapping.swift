package import DeviceSimulation
internal import Diagnostics
internal import KeyShareProtocol
package import KeyShareWire
package import KeySharing
package import LocalSockets
package import OpenSSL
package import PrivateFiles
package import SimulatedKeychain
package import ZipBundles

// The meaning of each module's errors on the command line: exit code, stable name and hint. Only the hints here name
// options and commands. docs/exit-codes.md is generated from these functions.

// MARK: - Files and device

extension FileError: ReportableFailure {
    package static let codes: [Code] = [
        .symbolicLink, .notAFolder, .foreignOwner, .exposedFile, .exposedFolder, .damagedFile, .alreadyThere,
        .foreignEntry, .otherFiles, .unsuitablePath, .cannotCreate(0), .inputOutput(0),
    ]

    package static func meaning(of code: Code) -> FailureMeaning {
        switch code {
        case .symbolicLink, .notAFolder, .foreignOwner, .cannotCreate:
            FailureMeaning(
                .cannotCreate,
                hint: "choose another folder with --device, or correct the permissions of this one")
        case .exposedFolder:
            FailureMeaning(
                .cannotCreate, "exposed-folder",
                hint: "choose a dedicated folder with --device, or chmod 700 this one")
        case .exposedFile: FailureMeaning(.refused, "exposed-file", hint: "make it private: chmod 600")
        case .alreadyThere: FailureMeaning(.refused, "already-there", hint: "--force replaces it")
        case .foreignEntry:
            FailureMeaning(.refused, "strangers-file", hint: "choose a file in a folder that you own")
        case .otherFiles:
            FailureMeaning(
                .refused, "not-replaceable", hint: "choose another folder with -o, or remove this one")
        case .unsuitablePath: FailureMeaning(.usage, "unsuitable-path", hint: "choose another file")
        case .inputOutput, .damagedFile: FailureMeaning(.inputOutput)
        }
    }
}

extension DeviceError: ReportableFailure {
    package static let codes: [Code] = [
        .invalidValue, .tooManyDecisions, .invalidEntitlements, .invalidGroupName, .locked, .inUse,
        .beingErased, .gone, .noBackup,
        .foreignBackup, .wrongBackupKey, .nothingForThisDevice, .backupInsideDevice, .keyInBackupFile,
        .keychainNotEmpty, .socketPathTooLong, .missingEntitlement(""),
    ]

    package static func meaning(of code: Code) -> FailureMeaning {
        switch code {
        case .locked: FailureMeaning(.refused, "device-locked", hint: .unlock)
        case .inUse:
            FailureMeaning(
                .refused, "provider-running", hint: "stop the provider, or close the other program")
        case .beingErased:
            FailureMeaning(
                .refused, "device-being-erased", hint: "try again after the device has been erased")
        case .gone:
            FailureMeaning(
                .inputOutput, "device-gone",
                hint: "run the command again, or choose another folder with --device")
        case .keychainNotEmpty:
            FailureMeaning(
                .refused, "already-there",
                hint: "--force replaces the existing items with those of the backup")
        case .backupInsideDevice:
            FailureMeaning(
                .usage, "unsuitable-path",
                hint: "choose a file outside the device's folder, so that it survives a reset of the device")
        case .keyInBackupFile:
            FailureMeaning(.usage, "unsuitable-path", hint: "choose another file for the key")
        case .noBackup: FailureMeaning(.malformed, "no-backup")
        case .foreignBackup:
            FailureMeaning(
                .refused, "foreign-backup",
                hint: "use the key file that was written with this backup: --key-file")
        case .wrongBackupKey: FailureMeaning(.refused, "foreign-backup")
        case .nothingForThisDevice:
            FailureMeaning(
                .refused, "foreign-backup",
                hint: "to copy identities from one device to another: keyshare-provider merge DIR")
        case .invalidValue:
            FailureMeaning(
                .inputOutput,
                hint: "change the value; the text $null is reserved in property lists")
        case .tooManyDecisions:
            FailureMeaning(
                .inputOutput,
                hint: "end permissions and key grants that are no longer needed: keyshare-device aliases")
        case .invalidEntitlements: FailureMeaning(.inputOutput)
        case .invalidGroupName:
            FailureMeaning(
                .inputOutput, hint: "a group name has 1 to 255 bytes, no slash, no NUL and no leading dot")
        case .socketPathTooLong: .socketPathTooLong
        case .missingEntitlement: FailureMeaning(.refused, "missing-entitlement")
        }
    }

    package var particularHint: String? { gap?.description }
}

extension KeychainError: ReportableFailure {
    /// The hint for a damaged keychain file or a damaged master key.
    package static let remedyOfDamage =
        "restore a backup, or create an empty keychain and keep the damaged one: "
        + "keyshare-provider clear"
    /// The hint for a record that cannot be opened in an intact keychain.
    package static let remedyOfAlteration =
        "altered data cannot be trusted: restore a backup, or empty the keychain: "
        + "keyshare-provider clear"

    package static func meaning(of code: Code) -> FailureMeaning {
        switch code {
        case .diskFull:
            FailureMeaning(.inputOutput, code.name, hint: "free some disk space; even reading requires some")
        case .incompatibleVersion:
            FailureMeaning(
                .inputOutput, code.name, hint: "use that version of KeySharing; the keychain is intact")
        case .invalidKeychain: FailureMeaning(.inputOutput, code.name, hint: remedyOfDamage)
        case .decode: FailureMeaning(.inputOutput, code.name, hint: remedyOfAlteration)
        case .io, .readOnly, .notAvailable: FailureMeaning(.inputOutput, code.name)
        case .itemNotFound: FailureMeaning(.noSuchItem, code.name)
        case .interactionNotAllowed: FailureMeaning(.refused, code.name, hint: .unlock)
        case .dataTooLarge, .missingEntitlement: FailureMeaning(.refused, code.name)
        case .param, .duplicateItem, .internalError: FailureMeaning(.unexpected, code.name)
        }
    }

    package var message: String { description }

    package var particularHint: String? {
        switch detail {
        case .interruptedWriter: "make the keychain's folder writable for one run"
        case .needsPasscode: "set a passcode; this item requires one: keyshare-device passcode set"
        case .entitlement(let gap): gap.description
        case nil: nil
        }
    }

    package var reportedCause: (any ReportableFailure)? { cause as? FileError }
}

extension PasteboardError: ReportableFailure {
    package static let codes: [Code] = [
        .denied, .consentFailed, .expired, .overwritten(0), .notPermitted(.application), .tooLarge, .damaged,
        .inputOutput,
    ]

    package static func meaning(of code: Code) -> FailureMeaning {
        switch code {
        case .denied:
            FailureMeaning(.refused, "paste-denied", hint: "to allow it without a prompt: --allow-paste")
        case .consentFailed: FailureMeaning(.refused, "no-consent")
        case .expired:
            FailureMeaning(
                .wrongPassword, "pasteboard-expired",
                hint: "import the item again, or pass the password with --password-file")
        case .overwritten:
            FailureMeaning(.wrongPassword, "pasteboard-overwritten", hint: "import the item again")
        case .notPermitted: FailureMeaning(.refused, "not-permitted")
        case .tooLarge: FailureMeaning(.refused, "too-large")
        case .damaged: FailureMeaning(.inputOutput, hint: "import the item again")
        case .inputOutput: FailureMeaning(.inputOutput)
        }
    }

    package var reportedCause: (any ReportableFailure)? { cause as? any ReportableFailure }
}

// MARK: - Untrusted files

extension OpenSSLError: ReportableFailure {
    /// An example code. OpenSSL has a number for each of its errors.
    package static let codes: [Code] = [0]

    package static func meaning(of code: Code) -> FailureMeaning {
        // OpenSSL itself fails only because of a bug or a defective installation.
        FailureMeaning(.unexpected)
    }

    package var message: String { "unexpected error: \(reason)" }
}

extension CertificateError: ReportableFailure {
    package static let codes: [Code] = [
        .malformed, .trailingBytes, .missing, .unreadable, .overLimit, .unsupportedKey(oid: ""),
        .malformedKey,
        .costlyKey(oid: ""),
        .unencodable, .unsignable,
    ]

    package static func meaning(of code: Code) -> FailureMeaning {
        switch code {
        case .unsupportedKey: FailureMeaning(.unsupportedAlgorithm)
        case .costlyKey, .overLimit: FailureMeaning(.refused, "limit")
        case .unreadable: FailureMeaning(.inputOutput)
        case .unencodable, .unsignable: FailureMeaning(.unexpected)
        case .malformed, .trailingBytes, .missing, .malformedKey: FailureMeaning(.malformed)
        }
    }
}

extension PKCS12Error: ReportableFailure {
    package static let codes: [Code] =
        [
            .wrongPassword, .unsupportedAlgorithm(oid: "", name: ""), .malformed(at: "", expected: ""),
            .noIdentity, .keyMismatch, .missingMAC,
        ] + PKCS12Limit.allCases.map { .refused(limit: $0) }

    package static func meaning(of code: Code) -> FailureMeaning {
        switch code {
        case .wrongPassword:
            FailureMeaning(
                .wrongPassword, hint: "pass it with --password-file, --password-env or --password-stdin")
        case .unsupportedAlgorithm: FailureMeaning(.unsupportedAlgorithm)
        case .malformed: FailureMeaning(.malformed)
        case .refused(.bags): FailureMeaning(.refused, "limit", hint: "--max-bags raises this limit")
        case .refused(.work), .refused(.iterations):
            FailureMeaning(.refused, "limit", hint: "if you trust the file, raise the limit with --patience")
        case .refused: FailureMeaning(.refused, "limit")
        case .missingMAC:
            FailureMeaning(.refused, "missing-mac", hint: "--allow-no-mac accepts it anyway")
        case .noIdentity:
            FailureMeaning(
                .noSuchItem, "nothing-to-import", hint: "show its contents: keyshare-consumer inspect FILE")
        case .keyMismatch: FailureMeaning(.validationFailed, "key-mismatch")
        }
    }
}

extension ZipError: ReportableFailure {
    package static let codes: [Code] = [
        .archiveTooLarge(limit: 0), .tooManyEntries(limit: 0), .notAnArchive, .damagedArchive,
        .unsafeName("", rule: .empty), .duplicateName(""), .overlappingEntries, .creationFailed,
        .entryTooLarge(limit: 0), .contentsTooLarge(limit: 0), .excessiveRatio(limit: 0),
        .sizeMismatch(declared: 0), .encryptedEntry, .notAFile, .unsupportedMethod(0), .damagedEntry,
    ]

    package static func meaning(of code: Code) -> FailureMeaning {
        switch code {
        case .notAnArchive, .damagedArchive, .damagedEntry, .sizeMismatch: FailureMeaning(.malformed)
        case .unsupportedMethod: FailureMeaning(.unsupportedAlgorithm)
        case .creationFailed: FailureMeaning(.unexpected)
        case .archiveTooLarge, .tooManyEntries, .entryTooLarge, .contentsTooLarge, .excessiveRatio:
            FailureMeaning(.refused, "limit")
        case .unsafeName, .duplicateName, .overlappingEntries, .encryptedEntry, .notAFile:
            FailureMeaning(.refused, "unsafe-archive")
        }
    }
}

// MARK: - Key sharing

extension ImportError: ReportableFailure {
    package static let codes: [Code] = [
        .noPasswordService, .emptyAnswer, .servicePassword, .noPassword, .pasteboardHoldsOther,
        .nothingToImport,
    ]

    package static func meaning(of code: Code) -> FailureMeaning {
        let (status, hint): (ExitStatus, String?) =
            switch code {
            case .noPasswordService:
                (.providerUnavailable, "the service must be named \(PasswordService.name)")
            case .emptyAnswer: (.providerUnavailable, nil)
            case .servicePassword:
                (
                    .wrongPassword,
                    "the password may have been rotated after it was fetched; import the item again"
                )
            case .noPassword:
                (.wrongPassword, "import the item again, or pass the password with --password-file")
            case .pasteboardHoldsOther:
                (.wrongPassword, "the pasteboard changed in the meantime; import the item again")
            case .nothingToImport: (.noSuchItem, nil)
            }
        return FailureMeaning(status, code.rawValue, hint: hint)
    }
}

extension ProviderFailure: ReportableFailure {
    package static func meaning(of code: Code) -> FailureMeaning {
        switch code {
        case .notAvailable: FailureMeaning(.noSuchItem, hint: .items)
        case .refused: FailureMeaning(.refused)
        case .mixedMechanisms, .usage: FailureMeaning(.usage)
        case .malformed, .unsupportedVersion, .unknownRequest, .serviceFailed, .serverBusy, .internalError:
            FailureMeaning(.providerUnavailable)
        }
    }

    package var message: String {
        switch code {
        case .malformed, .unknownRequest, .serviceFailed, .serverBusy, .internalError:
            "the provider reports: \(reason)"
        case .unsupportedVersion, .notAvailable, .refused, .mixedMechanisms, .usage: reason
        }
    }
}

extension SocketError: ReportableFailure {
    package static let codes: [Code] = [
        .pathTooLong, .unsafeFolder, .notASocket, .alreadyRunning, .notLoopback, .hostNotPermitted,
        .addressInUse, .alreadyRan, .system, .notRunning, .wrongOwner, .closed, .timedOut, .malformedReply,
        .contentTooLarge,
        .cannotConnect,
    ]

    package static func meaning(of code: Code) -> FailureMeaning {
        switch code {
        case .pathTooLong: .socketPathTooLong
        case .unsafeFolder, .notASocket:
            FailureMeaning(
                .cannotCreate, hint: "choose a path with --socket, in a folder that you own with mode 0700")
        case .alreadyRunning:
            FailureMeaning(
                .cannotCreate, "already-running", hint: "stop the other provider, or use another --socket")
        case .notLoopback: FailureMeaning(.usage, "not-loopback", hint: "port 0 selects a free port")
        case .hostNotPermitted:
            FailureMeaning(.refused, "host-not-permitted", hint: "permit the host with --fetch-from")
        case .addressInUse:
            FailureMeaning(.cannotCreate, "address-in-use", hint: "choose another port, or 0 for any")
        case .alreadyRan: FailureMeaning(.unexpected)
        case .system: FailureMeaning(.inputOutput)
        case .notRunning:
            FailureMeaning(
                .providerUnavailable, "provider-not-running", hint: "start it with: keyshare-provider serve")
        case .contentTooLarge: FailureMeaning(.refused, "too-large")
        case .wrongOwner, .closed, .timedOut, .malformedReply, .cannotConnect:
            FailureMeaning(.providerUnavailable)
        }
    }
}

extension String {
    /// The hint for a device that is locked, or that has not been unlocked since it started.
    package static let unlock = "unlock the device: keyshare-device unlock"
    /// The hint that lists the items, with the command of the running program.
    static var items: String {
        "to list the items: "
            + (CommandMain.programName == "keyshare-provider"
                ? "keyshare-provider list" : "keyshare-consumer browse")
    }
}

extension FailureMeaning {
    /// The path of a socket is longer than `sockaddr_un` permits (unix(7)).
    fileprivate static let socketPathTooLong = FailureMeaning(
        .cannotCreate, "socket-path-too-long", hint: "choose a shorter path with --socket")
}

// MARK: - Commands

extension CommandFailure: ReportableFailure {
    /// The codes of failures that the commands detect themselves: the names of all exit codes, and ``Kind``.
    package static var codes: [String] {
        (ExitStatus.allCases.filter { $0 != .success }.map(\.name) + Kind.allCases.map(\.rawValue))
    }

    package static func meaning(of code: String) -> FailureMeaning {
        if let status = ExitStatus.allCases.first(where: { $0.name == code }) {
            return FailureMeaning(status)
        }
        return Kind(rawValue: code).map { FailureMeaning($0.status, code) } ?? FailureMeaning(.unexpected)
    }

    /// This failure, which is already in its final form.
    package var commandFailure: CommandFailure { self }
}
