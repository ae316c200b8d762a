internal import DeviceSimulation
internal import Diagnostics
internal import KeyShareProtocol
internal import KeyShareWire
internal import LocalSockets
internal import PrivateFiles
internal import SimulatedKeychain

extension SharingChannelError {
    /// Converts an error of a lower module to a channel error. Keeps a `SharingChannelError` unchanged.
    package init(_ error: any Error) {
        switch error {
        case let error as SharingChannelError: self = error
        case let error as KeychainError: self.init(Self.code(error.code), error.reason, cause: error)
        case let error as DeviceError: self.init(Self.code(error.code), error.reason, cause: error)
        case let error as FileError:
            self.init(error.code == .damagedFile ? .damaged : .failed, error.reason, cause: error)
        case let error as SocketError:
            let isGone = [.notRunning, .closed].contains(error.code)
            self.init(isGone ? .notRunning : .failed, error.reason, cause: error)
        case let error as ProviderFailure:
            // `OneItemProvider` rejects a request for one reason only: the device is locked.
            self.init(error.code == .refused ? .locked : .failed, error.reason, cause: error)
        case let error as PasteboardError: self.init(Self.code(error.code), error.reason, cause: error)
        default: self.init(.failed, "\(error)", cause: error)
        }
    }

    private static func code(_ code: KeychainError.Code) -> Code {
        switch code {
        case .missingEntitlement: .missingEntitlement
        case .interactionNotAllowed: .locked
        case .decode, .invalidKeychain: .damaged
        default: .failed
        }
    }

    private static func code(_ code: DeviceError.Code) -> Code {
        switch code {
        case .missingEntitlement: .missingEntitlement
        case .locked: .locked
        default: .failed
        }
    }

    private static func code(_ code: PasteboardError.Code) -> Code {
        switch code {
        case .denied, .consentFailed: .denied
        case .expired: .expired
        case .overwritten: .overwritten
        case .notPermitted: .notPermitted
        case .damaged: .damaged
        case .tooLarge, .inputOutput: .failed
        }
    }

    /// Runs `body` and converts its errors to channel errors.
    ///
    /// - Throws: `SharingChannelError` for every error of `body`.
    package static func wrapping<Value>(_ body: () throws -> Value) throws(SharingChannelError) -> Value {
        do {
            return try body()
        } catch {
            throw SharingChannelError(error)
        }
    }
}
