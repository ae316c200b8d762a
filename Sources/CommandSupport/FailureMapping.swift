internal import Diagnostics
package import KeyShareConsumer
package import ZipBundles
package import LocalSockets
package import KeyShareWire
package import SharingChannels
package import DeviceSimulation
package import KeySharing
package import OpenSSL
package import PrivateFiles
package import TestCredentials

// What each module's errors mean on the command line: exit code, stable name, and what to do.

extension FileError: CommandReportable {
    package var commandFailure: CommandFailure {
        switch code {
        case .symbolicLink, .notAFolder, .foreignOwner, .cannotCreate:
            CommandFailure(.cannotCreate, reason, hint: "name another folder with --device, or mend this one")
        case .exposedFolder:
            CommandFailure(
                .cannotCreate, code: "exposed-folder", reason,
                hint: "name a folder of the device's own with --device, or chmod 700 this one")
        case .exposedFile:
            CommandFailure(.refused, code: "exposed-file", reason, hint: "chmod 600 closes it to others")
        case .alreadyThere:
            CommandFailure(.refused, code: "already-there", reason, hint: "--force replaces it")
        case .unsuitablePath:
            CommandFailure(.usage, code: "unsuitable-path", reason, hint: "name another file")
        case .inputOutput, .damagedFile: CommandFailure(.inputOutput, reason)
        }
    }
}

extension DeviceError: CommandReportable {
    package var commandFailure: CommandFailure {
        switch code {
        case .locked: CommandFailure(.refused, code: "device-locked", reason, hint: advice)
        case .inUse: CommandFailure(.refused, code: "provider-running", reason, hint: advice)
        case .beingErased: CommandFailure(.refused, code: "device-being-erased", reason, hint: advice)
        case .gone: CommandFailure(.inputOutput, code: "device-gone", reason, hint: advice)
        case .keychainNotEmpty: CommandFailure(.refused, code: "already-there", reason, hint: advice)
        case .backupInsideDevice, .keyInBackupFile:
            CommandFailure(.usage, code: "unsuitable-path", reason, hint: advice)
        case .noBackup: CommandFailure(.malformed, code: "no-backup", reason, hint: advice)
        case .foreignBackup, .wrongBackupKey, .nothingForThisDevice:
            CommandFailure(.refused, code: "foreign-backup", reason, hint: advice)
        case .invalidValue, .invalidEntitlements, .invalidGroupName:
            CommandFailure(.inputOutput, reason, hint: advice)
        case .socketPathTooLong:
            CommandFailure(.cannotCreate, code: "socket-path-too-long", reason, hint: advice)
        case .missingEntitlement: CommandFailure(.refused, code: "missing-entitlement", reason, hint: advice)
        }
    }

    /// What to do about this very error; nil where nothing is known beyond what helps with its exit code.
    package var advice: String? {
        switch code {
        case .locked: "unlock the device"
        case .inUse: "stop it first"
        case .beingErased: "try again when that is done"
        case .gone: "it was erased or removed"
        case .keychainNotEmpty: "--force puts the backup's items in place of those that are there"
        case .backupInsideDevice: "name a file elsewhere: what is lost with the device is no backup of it"
        case .keyInBackupFile: "name another file for the key"
        case .foreignBackup: "give the key that was written with it: --key-file"
        case .nothingForThisDevice: "keyshare-provider merge brings identities from one device to another"
        case .invalidGroupName: "a group's name has 1 to 255 bytes, no slash, no NUL and no dot in front"
        case .socketPathTooLong: "name a shorter path with --socket"
        case .missingEntitlement: gap?.description
        case .noBackup, .wrongBackupKey, .invalidValue, .invalidEntitlements: nil
        }
    }
}

extension KeychainError: CommandReportable {
    /// What to do where the keychain's file or its master key is at fault.
    package static let remedyOfDamage =
        "keyshare-provider restore puts a backup in its place, clear an empty one; both keep what is damaged"
    /// What to do where a record does not open in a keychain that does.
    package static let remedyOfAlteration =
        "what was altered cannot be trusted; restore puts a backup in its place, clear empties the keychain"

    package var commandFailure: CommandFailure {
        if let cause = cause as? FileError { return cause.commandFailure }
        let status: ExitStatus =
            switch code {
            case .diskFull, .io, .readOnly, .notAvailable, .incompatibleVersion, .invalidKeychain, .decode:
                .inputOutput
            case .itemNotFound: .noSuchItem
            case .dataTooLarge, .interactionNotAllowed, .missingEntitlement: .refused
            case .param, .duplicateItem, .internalError: .unexpected
            }
        let hint: String? =
            switch code {
            case .invalidKeychain: Self.remedyOfDamage
            case .decode: Self.remedyOfAlteration
            default: advice
            }
        return CommandFailure(status, code: code.name, description, hint: hint)
    }

    /// What to do about this very error; nil where nothing is known beyond what helps with its code.
    package var advice: String? {
        switch code {
        case .diskFull: "make room there; reading needs some too"
        case .incompatibleVersion: "use that version; nothing is wrong with the keychain"
        case .readOnly: detail == .interruptedWriter ? "let the keychain's folder be written once" : nil
        case .interactionNotAllowed:
            detail == .needsPasscode ? "such an item needs a passcode" : "unlock the device"
        case .missingEntitlement: gap?.description
        case .io, .param, .notAvailable, .invalidKeychain, .duplicateItem, .itemNotFound, .dataTooLarge,
            .decode,
            .internalError:
            nil
        }
    }
}

extension PasteboardError: CommandReportable {
    package var commandFailure: CommandFailure {
        if let cause = cause as? any CommandReportable { return cause.commandFailure }
        switch code {
        case .denied:
            return CommandFailure(
                .refused, code: "paste-denied", reason, hint: "--allow-paste agrees without asking")
        case .consentFailed: return CommandFailure(.refused, code: "no-consent", reason)
        case .expired:
            return CommandFailure(
                .wrongPassword, code: "pasteboard-expired", reason,
                hint: "import the item again, or give the password with --password-file")
        case .overwritten:
            return CommandFailure(
                .wrongPassword, code: "pasteboard-overwritten", reason, hint: "import the item again")
        case .notPermitted: return CommandFailure(.refused, code: "not-permitted", reason)
        case .tooLarge: return CommandFailure(.refused, code: "too-large", reason)
        case .damaged: return CommandFailure(.inputOutput, reason, hint: "import the item again")
        case .inputOutput: return CommandFailure(.inputOutput, reason)
        }
    }
}

extension SharingChannelError: CommandReportable {
    /// What to do about the failure; nil where nothing can be advised.
    package var advice: String? {
        switch code {
        case .missingEntitlement: missingGroup.map(\.hint) ?? adviceOnCause
        case .locked: adviceOnCause ?? "unlock the device"
        case .alreadyUsed, .notRunning: "send the credential again"
        case .notPaired: "pair the two apps first"
        case .noChannel, .failed: adviceOnCause
        case .denied, .expired, .overwritten, .notPermitted, .damaged: nil
        }
    }

    private var adviceOnCause: String? {
        switch cause {
        case let error as SharingChannelError: error.advice
        case let error as KeychainError: error.advice
        case let error as DeviceError: error.advice
        default: nil
        }
    }

    package var commandFailure: CommandFailure {
        guard code == .failed else {
            return CommandFailure(.refused, code: code.rawValue, reason, hint: advice)
        }
        if let cause = cause as? any CommandReportable { return cause.commandFailure }
        return CommandFailure(.inputOutput, reason, hint: advice)
    }
}

extension MissingGroup {
    /// What to change in the apps so that they have a common group.
    fileprivate var hint: String {
        guard isOneTeam else { return "apps of two teams can share none; take a channel without a group" }
        let hints = unusable.lazy.compactMap { app, group in
            switch kind {
            case .keychain: app.gap(accessGroup: group)?.description
            case .application: app.gap(applicationGroup: group)?.description
            }
        }
        return hints.first ?? "give both apps the same \(kind) group"
    }
}

extension PKCS12Error: CommandReportable {
    package var commandFailure: CommandFailure {
        switch code {
        case .wrongPassword:
            CommandFailure(
                .wrongPassword, reason,
                hint: "give it with --password-file, --password-env or --password-stdin")
        case .unsupportedAlgorithm: CommandFailure(.unsupportedAlgorithm, reason)
        case .malformed: CommandFailure(.malformed, reason)
        case .refused(let limit):
            CommandFailure(
                .refused, code: "limit", reason, hint: limit == .bags ? "--max-bags raises this limit" : nil)
        case .missingMAC:
            CommandFailure(
                .refused, code: "missing-mac", reason, hint: "--allow-no-mac takes it all the same")
        case .noIdentity:
            CommandFailure(
                .noSuchItem, code: "nothing-to-import", reason,
                hint: "keyshare-consumer inspect shows what is in it")
        case .keyMismatch: CommandFailure(.validationFailed, code: "key-mismatch", reason)
        }
    }
}

extension CertificateError: CommandReportable {
    package var commandFailure: CommandFailure {
        switch code {
        case .unsupportedKey: CommandFailure(.unsupportedAlgorithm, reason)
        case .costlyKey: CommandFailure(.refused, code: "limit", reason)
        case .unencodable, .unsignable: CommandFailure(.unexpected, reason)
        case .malformed, .trailingBytes, .missing, .malformedKey: CommandFailure(.malformed, reason)
        }
    }
}

extension OpenSSLError: CommandReportable {
    // OpenSSL fails by itself only when something is wrong with the program or the installation.
    package var commandFailure: CommandFailure {
        CommandFailure(.unexpected, "unexpected error: \(reason)")
    }
}

// KeySharing is public and depends on nothing of this package, so that the conformance is declared here.
extension RequestError: Failure {}

extension RequestError: CommandReportable {
    package var commandFailure: CommandFailure {
        let (status, hint): (ExitStatus, String?) =
            switch code {
            case .undeclaredType: (.usage, "the types that can be asked for are listed by browse --help")
            case .deprecatedSpelling(let modern): (.usage, "use \(modern)")
            case .malformedDeclarations: (.malformed, nil)
            case .mixedMechanisms: (.usage, "ask for types of one mechanism only")
            case .otherMechanism(.legacy): (.usage, "add --mechanism legacy")
            case .otherMechanism(.keySharing2025):
                (.usage, "ask for a legacy type, or leave out --mechanism legacy")
            case .noSuchItem: (.noSuchItem, "browse and list show what there is")
            case .ambiguousName:
                (
                    .noSuchItem,
                    "name one by its identifier: " + candidates.prefix(3).joined(separator: ", ")
                )
            case .itemDisabled:
                (
                    .refused,
                    candidates.isEmpty
                        ? nil : "ask for it with --uti " + candidates.joined(separator: " --uti ")
                )
            case .isFolder:
                (.noSuchItem, "import one of the files in it, or \u{201C}\(name).zip\u{201D}")
            case .noSuchIdentity: (.noSuchItem, "keyshare-consumer list shows what it holds")
            case .ambiguousLabel: (.noSuchItem, "give more of it")
            }
        return CommandFailure(status, code: code.name, reason, hint: hint)
    }
}

extension ImportError: CommandReportable {
    package var commandFailure: CommandFailure {
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
        return CommandFailure(status, code: code.rawValue, reason, hint: hint)
    }
}

extension ProviderFailure: CommandReportable {
    package var commandFailure: CommandFailure {
        switch code {
        case .notAvailable:
            CommandFailure(.noSuchItem, reason, hint: "browse and list show what there is")
        case .refused: CommandFailure(.refused, reason)
        case .mixedMechanisms, .usage: CommandFailure(.usage, reason)
        case .unsupportedVersion: CommandFailure(.providerUnavailable, reason)
        case .malformed, .unknownRequest, .serviceFailed, .serverBusy, .internalError:
            CommandFailure(.providerUnavailable, "the provider says: \(reason)")
        }
    }
}

extension SocketError: CommandReportable {
    package var commandFailure: CommandFailure {
        switch code {
        case .pathTooLong:
            CommandFailure(
                .cannotCreate, code: "socket-path-too-long", reason, hint: "name a shorter path with --socket"
            )
        case .unsafeFolder, .notASocket:
            CommandFailure(
                .cannotCreate, reason, hint: "name a path in a folder of your own, mode 0700, with --socket")
        case .alreadyRunning:
            CommandFailure(
                .cannotCreate, code: "already-running", reason,
                hint: "stop the other provider, or use another --socket")
        case .notLoopback:
            CommandFailure(.usage, code: "not-loopback", reason, hint: "port 0 takes any that is free")
        case .addressInUse:
            CommandFailure(
                .cannotCreate, code: "address-in-use", reason, hint: "name another port, or 0 for any")
        case .alreadyRan: CommandFailure(.unexpected, reason)
        case .system: CommandFailure(.inputOutput, reason)
        case .notRunning:
            CommandFailure(
                .providerUnavailable, code: "provider-not-running", reason,
                hint: "start it with: keyshare-provider serve")
        case .contentTooLarge: CommandFailure(.refused, code: "too-large", reason)
        case .wrongOwner, .closed, .timedOut, .malformedReply, .cannotConnect:
            CommandFailure(.providerUnavailable, reason)
        }
    }
}

extension ZipError: CommandReportable {
    package var commandFailure: CommandFailure {
        switch code {
        case .notAnArchive, .damagedArchive, .damagedEntry, .sizeMismatch:
            CommandFailure(.malformed, reason)
        case .unsupportedMethod: CommandFailure(.unsupportedAlgorithm, reason)
        case .creationFailed: CommandFailure(.unexpected, reason)
        case .archiveTooLarge, .tooManyEntries, .entryTooLarge, .contentsTooLarge, .excessiveRatio:
            CommandFailure(.refused, code: "limit", reason)
        case .unsafeName, .duplicateName, .overlappingEntries, .encryptedEntry, .notAFile:
            CommandFailure(.refused, code: "unsafe-archive", reason)
        }
    }
}

extension ProvisioningError: CommandReportable {
    package var commandFailure: CommandFailure {
        let (status, hint): (ExitStatus, String?) =
            switch code {
            case .noSuchProfile, .typeNotInProfile:
                (.usage, "keyshare-provider provision --help names the profiles")
            case .dateOutOfRange:
                (.usage, "ask for fewer generations and recovered keys, or for later ones")
            case .malformedPerson, .malformedScenario: (.usage, remedy?.hint)
            case .noSuchScenario:
                (
                    .usage,
                    [remedy?.hint, "keyshare-provider provision --list-scenarios lists them"]
                        .compactMap(\.self).joined(separator: " ")
                )
            case .noSuchFault: (.usage, "keyshare-provider faults lists them")
            case .faultNeedsFile: (.usage, "name a file with -o")
            case .nothingToRenew: (.noSuchItem, "keyshare-provider provision makes some first")
            }
        return CommandFailure(status, code: code.rawValue, reason, hint: hint)
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
        case .fileOfTestVector(let name): "keyshare-provider provision --fault \(name) -o FILE makes it"
        case .shorterInterval: "a shorter interval, such as 6 months"
        }
    }
}
