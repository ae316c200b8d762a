package import Diagnostics
package import DeviceSimulation
package import KeyShareWire
package import KeySharing
package import LocalSockets
package import OpenSSL
package import PrivateFiles
package import ZipBundles

// What the errors of each module mean on the command line: exit code, stable name, and what to do. Hints name options
// and commands here, and nowhere below. docs/exit-codes.md is made from these functions.

// MARK: - Files and device

extension FileError: ReportableFailure {
    package static let codes: [Code] = [
        .symbolicLink, .notAFolder, .foreignOwner, .exposedFile, .exposedFolder, .damagedFile, .alreadyThere,
        .strangersEntry, .unsuitablePath, .cannotCreate(0), .inputOutput(0),
    ]

    package static func meaning(of code: Code) -> FailureMeaning {
        switch code {
        case .symbolicLink, .notAFolder, .foreignOwner, .cannotCreate:
            FailureMeaning(.cannotCreate, hint: "name another folder with --device, or mend this one")
        case .exposedFolder:
            FailureMeaning(
                .cannotCreate, "exposed-folder",
                hint: "name a folder of the device's own with --device, or chmod 700 this one")
        case .exposedFile: FailureMeaning(.refused, "exposed-file", hint: "chmod 600 closes it to others")
        case .alreadyThere: FailureMeaning(.refused, "already-there", hint: "--force replaces it")
        case .strangersEntry:
            FailureMeaning(.refused, "strangers-file", hint: "name a file in a folder of your own")
        case .unsuitablePath: FailureMeaning(.usage, "unsuitable-path", hint: "name another file")
        case .inputOutput, .damagedFile: FailureMeaning(.inputOutput)
        }
    }
}

extension DeviceError: ReportableFailure {
    package static let codes: [Code] = [
        .invalidValue, .invalidEntitlements, .invalidGroupName, .locked, .inUse, .beingErased, .gone,
        .noBackup,
        .foreignBackup, .wrongBackupKey, .nothingForThisDevice, .backupInsideDevice, .keyInBackupFile,
        .keychainNotEmpty, .socketPathTooLong, .missingEntitlement(""),
    ]

    package static func meaning(of code: Code) -> FailureMeaning {
        switch code {
        case .locked: FailureMeaning(.refused, "device-locked", hint: .unlock)
        case .inUse: FailureMeaning(.refused, "provider-running", hint: "stop it first")
        case .beingErased:
            FailureMeaning(.refused, "device-being-erased", hint: "try again when that is done")
        case .gone: FailureMeaning(.inputOutput, "device-gone", hint: "it was erased or removed")
        case .keychainNotEmpty:
            FailureMeaning(
                .refused, "already-there",
                hint: "--force puts the backup's items in place of those that are there")
        case .backupInsideDevice:
            FailureMeaning(
                .usage, "unsuitable-path",
                hint: "name a file elsewhere: what is lost with the device is no backup of it")
        case .keyInBackupFile:
            FailureMeaning(.usage, "unsuitable-path", hint: "name another file for the key")
        case .noBackup: FailureMeaning(.malformed, "no-backup")
        case .foreignBackup:
            FailureMeaning(
                .refused, "foreign-backup", hint: "give the key that was written with it: --key-file")
        case .wrongBackupKey: FailureMeaning(.refused, "foreign-backup")
        case .nothingForThisDevice:
            FailureMeaning(
                .refused, "foreign-backup",
                hint: "merge brings identities from one device to another")
        case .invalidValue, .invalidEntitlements: FailureMeaning(.inputOutput)
        case .invalidGroupName:
            FailureMeaning(
                .inputOutput, hint: "a group's name has 1 to 255 bytes, no slash, no NUL and no dot in front")
        case .socketPathTooLong: .socketPathTooLong
        case .missingEntitlement: FailureMeaning(.refused, "missing-entitlement")
        }
    }

    package var particularHint: String? { gap?.description }
}

extension KeychainError: ReportableFailure {
    /// What to do where the file of the keychain or its master key is damaged.
    static let remedyOfDamage =
        "put a backup in its place with restore, or begin an empty one, which keeps what is damaged: "
        + "keyshare-provider clear"
    /// What to do where a record of a sound keychain does not open.
    static let remedyOfAlteration =
        "what was altered cannot be trusted: put a backup in its place with restore, or empty the keychain: "
        + "keyshare-provider clear"

    package static func meaning(of code: Code) -> FailureMeaning {
        switch code {
        case .diskFull:
            FailureMeaning(.inputOutput, code.name, hint: "make room there; reading needs some too")
        case .incompatibleVersion:
            FailureMeaning(
                .inputOutput, code.name, hint: "use that version; nothing is wrong with the keychain")
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
        case .interruptedWriter: "let the keychain's folder be written once"
        case .needsPasscode: "such an item needs a passcode"
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
        case .denied: FailureMeaning(.refused, "paste-denied", hint: "--allow-paste agrees without asking")
        case .consentFailed: FailureMeaning(.refused, "no-consent")
        case .expired:
            FailureMeaning(
                .wrongPassword, "pasteboard-expired",
                hint: "import the item again, or give the password with --password-file")
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

// MARK: - Files from anywhere

extension OpenSSLError: ReportableFailure {
    /// An example: OpenSSL has a number for each of its errors.
    package static let codes: [Code] = [0]

    package static func meaning(of code: Code) -> FailureMeaning {
        // OpenSSL fails by itself only when something is wrong with the program or the installation.
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
                .wrongPassword, hint: "give it with --password-file, --password-env or --password-stdin")
        case .unsupportedAlgorithm: FailureMeaning(.unsupportedAlgorithm)
        case .malformed: FailureMeaning(.malformed)
        case .refused(.bags): FailureMeaning(.refused, "limit", hint: "--max-bags raises this limit")
        case .refused(.work), .refused(.iterations):
            FailureMeaning(.refused, "limit", hint: "--patience takes more seconds, if you trust the file")
        case .refused: FailureMeaning(.refused, "limit")
        case .missingMAC:
            FailureMeaning(.refused, "missing-mac", hint: "--allow-no-mac takes it all the same")
        case .noIdentity:
            FailureMeaning(
                .noSuchItem, "nothing-to-import", hint: "what is in it: keyshare-consumer inspect FILE")
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

// KeySharing is public and depends on nothing of this package, so that the conformance is declared here.
extension RequestError: ReportableFailure {
    package static let domain = FailureDomain.request

    package static let codes: [Code] = [
        .undeclaredType, .deprecatedSpelling(use: "TYPE"), .malformedDeclarations, .mixedMechanisms,
        .otherMechanism(.legacy), .otherMechanism(.keySharing2025), .noSuchItem, .ambiguousName,
        .itemDisabled,
        .isFolder, .noSuchIdentity, .ambiguousLabel,
    ]

    package static func meaning(of code: Code) -> FailureMeaning {
        let (status, hint): (ExitStatus, String?) =
            switch code {
            case .undeclaredType: (.usage, .types)
            case .deprecatedSpelling(let modern): (.usage, "use \(modern)")
            case .malformedDeclarations: (.malformed, nil)
            case .mixedMechanisms: (.usage, "ask for types of one mechanism only")
            case .otherMechanism(.legacy): (.usage, "add --mechanism legacy")
            case .otherMechanism(.keySharing2025):
                (.usage, "ask for a legacy type, or leave out --mechanism legacy")
            case .noSuchItem: (.noSuchItem, .items)
            case .ambiguousName, .isFolder: (.noSuchItem, nil)
            case .itemDisabled: (.refused, nil)
            case .noSuchIdentity: (.noSuchItem, "what it holds: keyshare-consumer list")
            case .ambiguousLabel: (.noSuchItem, "give more of it")
            }
        return FailureMeaning(status, code.name, hint: hint)
    }

    package var particularHint: String? {
        switch code {
        case .ambiguousName:
            "name one by its identifier: " + candidates.prefix(3).joined(separator: ", ")
        case .itemDisabled:
            candidates.isEmpty ? nil : "ask for it with --uti " + candidates.joined(separator: " --uti ")
        case .ambiguousLabel:
            "give more of it: "
                + candidates.prefix(3).map { String($0.prefix(max(16, name.count + 4))) }.joined(
                    separator: ", ")
                + (candidates.count > 3 ? ", \u{2026}" : "")
        case .isFolder: "import one of the files in it, or \u{201C}\(name).zip\u{201D}"
        case .undeclaredType:
            NearMatch.of(name, among: Mechanism.allCases.flatMap(\.requestableTypes)).map {
                "did you mean \u{201C}\($0)\u{201D}? " + .types
            }
        case .deprecatedSpelling, .malformedDeclarations, .mixedMechanisms, .otherMechanism,
            .noSuchItem, .noSuchIdentity:
            nil
        }
    }
}

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
                (.wrongPassword, "it may have been rotated meanwhile: import the item again")
            case .noPassword:
                (.wrongPassword, "import the item again, or give the password with --password-file")
            case .pasteboardHoldsOther:
                (.wrongPassword, "something was copied in between; import the item again")
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
            "the provider says: \(reason)"
        case .unsupportedVersion, .notAvailable, .refused, .mixedMechanisms, .usage: reason
        }
    }
}

extension SocketError: ReportableFailure {
    package static let codes: [Code] = [
        .pathTooLong, .unsafeFolder, .notASocket, .alreadyRunning, .notLoopback, .addressInUse, .alreadyRan,
        .system, .notRunning, .wrongOwner, .closed, .timedOut, .malformedReply, .contentTooLarge,
        .cannotConnect,
    ]

    package static func meaning(of code: Code) -> FailureMeaning {
        switch code {
        case .pathTooLong: .socketPathTooLong
        case .unsafeFolder, .notASocket:
            FailureMeaning(
                .cannotCreate, hint: "name a path in a folder of your own, mode 0700, with --socket")
        case .alreadyRunning:
            FailureMeaning(
                .cannotCreate, "already-running", hint: "stop the other provider, or use another --socket")
        case .notLoopback: FailureMeaning(.usage, "not-loopback", hint: "port 0 takes any that is free")
        case .addressInUse:
            FailureMeaning(.cannotCreate, "address-in-use", hint: "name another port, or 0 for any")
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
    /// What to do where the device is locked, or was not unlocked since it started.
    fileprivate static let unlock = "unlock the device: keyshare-device unlock"
    /// Where the types stand that can be asked for.
    fileprivate static let types = "the types: keyshare-consumer browse --help"
    /// Which command shows the items that there are: the list of the program that was asked.
    fileprivate static var items: String {
        "what there is: "
            + (CommandMain.programName == "keyshare-provider"
                ? "keyshare-provider list" : "keyshare-consumer browse")
    }
}

extension FailureMeaning {
    /// The path of a socket has more bytes than `sockaddr_un` holds (unix(7)).
    fileprivate static let socketPathTooLong = FailureMeaning(
        .cannotCreate, "socket-path-too-long", hint: "name a shorter path with --socket")
}

extension SharingChannelError: ReportableFailure {
    package static func meaning(of code: Code) -> FailureMeaning {
        switch code {
        case .locked: FailureMeaning(.refused, code.rawValue, hint: .unlock)
        case .alreadyUsed, .notRunning:
            FailureMeaning(.refused, code.rawValue, hint: "send the credential again")
        case .notPaired: FailureMeaning(.refused, code.rawValue, hint: "pair the two apps first")
        case .failed: FailureMeaning(.inputOutput)
        case .missingEntitlement, .noChannel, .denied, .expired, .overwritten, .notPermitted, .damaged:
            FailureMeaning(.refused, code.rawValue)
        }
    }

    package var particularHint: String? {
        let hintOfCause = (cause as? any ReportableFailure)?.hint
        return switch code {
        case .missingEntitlement: missingGroup.map(\.hint) ?? hintOfCause
        case .locked, .noChannel, .failed: hintOfCause
        case .alreadyUsed, .notRunning, .notPaired, .denied, .expired, .overwritten, .notPermitted, .damaged:
            nil
        }
    }

    package var reportedCause: (any ReportableFailure)? {
        code == .failed ? cause as? any ReportableFailure : nil
    }
}

extension MissingGroup {
    /// What to change in the apps so that they have a common group.
    fileprivate var hint: String {
        guard isOneTeam else { return "apps of two teams can share none; take a channel without a group" }
        return gaps.first ?? "give both apps the same \(kind) group"
    }
}

// MARK: - Test credentials

extension ProvisioningError: ReportableFailure {
    package static func meaning(of code: Code) -> FailureMeaning {
        let (status, hint): (ExitStatus, String?) =
            switch code {
            case .noSuchProfile, .typeNotInProfile:
                (.usage, "the profiles: keyshare-provider provision --help")
            case .dateOutOfRange:
                (.usage, "ask for fewer generations and recovered keys, or for later ones")
            case .malformedPerson, .malformedScenario: (.usage, nil)
            case .noSuchScenario: (.usage, "the scenarios: keyshare-provider provision --list-scenarios")
            case .noSuchFault: (.usage, "the faults: keyshare-provider faults")
            case .faultNeedsFile: (.usage, "name a file with -o")
            case .faultOfFile: (.usage, "leave out --token-only, and name a file with -o")
            case .nothingToRenew: (.noSuchItem, "make some first: keyshare-provider provision")
            case .notRevocable: (.refused, "the authorities that can revoke: keyshare-provider trust")
            }
        return FailureMeaning(status, code.rawValue, hint: hint)
    }

    package var particularHint: String? {
        switch code {
        case .malformedPerson, .malformedScenario: remedy?.hint
        case .noSuchScenario, .noSuchFault:
            remedy.map { "\($0.hint) \(Self.meaning(of: code).hint ?? "")" }
        case .noSuchProfile, .typeNotInProfile, .dateOutOfRange, .faultNeedsFile, .faultOfFile,
            .nothingToRenew, .notRevocable:
            nil
        }
    }
}

extension ProvisioningError.Remedy {
    /// The remedy in words.
    fileprivate var hint: String {
        switch self {
        case .nearestName(let name): "did you mean \u{201C}\(name)\u{201D}?"
        case .keys(let nearest, let all):
            (nearest.map { "did you mean \u{201C}\($0)\u{201D}? " } ?? "")
                + "there are \(all.joined(separator: ", "))"
        case .fileOfTestVector(let name):
            "make it in a file: keyshare-provider provision --fault \(name) -o \(name).p12"
        case .shorterInterval: "a shorter interval, such as 6 months"
        }
    }
}

// MARK: - Commands

extension CommandFailure: ReportableFailure {
    /// The codes of failures that the commands find by themselves: the names of all exit codes, and ``Kind``.
    package static var codes: [String] {
        (ExitStatus.allCases.filter { $0 != .success }.map(\.name) + Kind.allCases.map(\.rawValue))
    }

    package static func meaning(of code: String) -> FailureMeaning {
        if let status = ExitStatus.allCases.first(where: { $0.name == code }) {
            return FailureMeaning(status)
        }
        return Kind(rawValue: code).map { FailureMeaning($0.status, code) } ?? FailureMeaning(.unexpected)
    }

    /// This failure, which is what the command line shows already.
    package var commandFailure: CommandFailure { self }
}
