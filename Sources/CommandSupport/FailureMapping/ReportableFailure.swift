package import Diagnostics
internal import DeviceSimulation
internal import KeyShareWire
internal import KeySharing
internal import LocalSockets
internal import OpenSSL
internal import PersistentToken
internal import PrivateFiles
internal import ZipBundles

/// What the failures of one code mean on the command line.
package struct FailureMeaning: Sendable {
    /// The exit code.
    package let status: ExitStatus
    /// The stable name that JSON shows.
    package let name: String
    /// What to do, as a phrase; nil where only the details of a failure tell, or nothing helps.
    package let hint: String?

    /// A meaning by its parts.
    ///
    /// - Parameter name: the stable name; nil for the name of `status`.
    init(_ status: ExitStatus, _ name: String? = nil, hint: String? = nil) {
        self.status = status
        self.name = name ?? status.name
        self.hint = hint
    }
}

/// An error type that has a meaning on the command line for each of its codes.
package protocol ReportableFailure: Failure {
    /// One code of each case; values inside a code are examples.
    static var codes: [Code] { get }

    /// The exit code, the stable name and the hint of the failures of a code.
    static func meaning(of code: Code) -> FailureMeaning

    /// The meanings of failures whose details say more than their code, each with what it is about.
    static var particularMeanings: [(name: String, meaning: FailureMeaning)] { get }

    /// The meaning of this very failure, by its details; nil where the code alone tells.
    var particularMeaning: FailureMeaning? { get }

    /// What happened, as a phrase that goes after the name of the command.
    var message: String { get }
    /// What to do about this very failure, by its details; nil where the code alone tells.
    var particularHint: String? { get }
    /// The failure underneath that says more, and is reported in place of this one; nil where there is none.
    var reportedCause: (any ReportableFailure)? { get }
    /// The failure as the command line shows it. A requirement, so that `CommandFailure` gives itself.
    var commandFailure: CommandFailure { get }
}

extension ReportableFailure {
    /// The reason, where nothing is to be added to it.
    package var message: String { reason }
    /// No failures whose details say more.
    package static var particularMeanings: [(name: String, meaning: FailureMeaning)] { [] }
    /// No more than the code tells.
    package var particularMeaning: FailureMeaning? { nil }
    /// Nothing beyond what the code tells.
    package var particularHint: String? { nil }
    /// No failure that would say more.
    package var reportedCause: (any ReportableFailure)? { nil }

    /// What to do about this failure, as a phrase; nil where nothing is known beyond what usually helps with the exit
    /// code.
    package var hint: String? { particularHint ?? (particularMeaning ?? Self.meaning(of: code)).hint }

    /// The failure as the command line shows it.
    package var commandFailure: CommandFailure {
        if let reportedCause { return reportedCause.commandFailure }
        let meaning = particularMeaning ?? Self.meaning(of: code)
        return CommandFailure(meaning.status, code: meaning.name, message, hint: hint)
    }
}

extension ReportableFailure where Code: CaseIterable {
    /// All codes.
    package static var codes: [Code] { Array(Code.allCases) }
}

extension FailureDomain {
    /// The error type of the domain.
    package var type: any ReportableFailure.Type {
        switch self {
        case .openSSL: OpenSSLError.self
        case .certificate: CertificateError.self
        case .pkcs12: PKCS12Error.self
        case .cms: CMSError.self
        case .zip: ZipError.self
        case .request: RequestError.self
        case .import: ImportError.self
        case .file: FileError.self
        case .device: DeviceError.self
        case .keychain: KeychainError.self
        case .pasteboard: PasteboardError.self
        case .sharingChannel: SharingChannelError.self
        case .socket: SocketError.self
        case .provider: ProviderFailure.self
        case .provisioning: ProvisioningError.self
        case .token: TokenError.self
        case .command: CommandFailure.self
        }
    }
}
