internal import CommandSupport
internal import Foundation
internal import LocalSockets
internal import Synchronization

/// A deliberate fault of a provider.
enum ProviderFault: Sendable, Hashable {
    /// The name of a fault of the service.
    case service(String)
    /// The name of a fault of the persistent token.
    case token(String)
    /// The name of a fault of alias sharing.
    case aliases(String)

    /// The name of the fault, as commands accept it.
    var name: String {
        switch self {
        case .service(let name), .token(let name), .aliases(let name): name
        }
    }

    /// The options of `keyshare-provider serve` that cause the fault.
    fileprivate var options: [String] {
        switch self {
        case .service(let name): ["--fault", name]
        case .token(let name): ["--token-fault", name]
        case .aliases(let name): ["--alias-fault", name]
        }
    }
}

/// Runs the executable `keyshare-provider`: as the provider that the page has started, and for its other commands.
final class ProviderProcess: Sendable {
    private struct Running {
        let process: Process
        let fault: ProviderFault?
        let errors: ErrorText
    }

    private let folder: String
    private let socket: String
    private let running = Mutex<Running?>(nil)

    /// Prepares to start a provider for a device.
    ///
    /// - Parameters:
    ///   - folder: The device's folder.
    ///   - socket: The path of the provider's socket.
    init(device folder: String, socket: String) {
        self.folder = folder
        self.socket = socket
    }

    /// The ID and the fault of the provider process that this page started; nil if that process is not running.
    var current: (processID: Int32, fault: ProviderFault?)? {
        running.withLock { running in
            guard let running, running.process.isRunning else { return nil }
            return (running.process.processIdentifier, running.fault)
        }
    }

    /// Starts a provider and waits until it listens.
    ///
    /// - Parameter fault: The fault of the provider, or nil.
    /// - Throws: `CommandFailure`: 10 if another provider is running; the provider's own failure if it ends
    ///   immediately.
    func start(fault: ProviderFault?) async throws {
        await stop()
        if let other = PeerIdentity.listener(at: socket) {
            throw CommandFailure(
                .refused, code: "already-running",
                "another provider is running, process \(other.processID), which this page did not start",
                hint: "stop that process, and start a provider here")
        }
        let process = Process()
        let errors = ErrorText()
        process.executableURL = try Self.program()
        process.arguments =
            ["serve", "--quiet", "--device", folder, "--socket", socket]
            + (fault?.options ?? [])
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = errors.pipe
        try process.run()
        running.withLock { $0 = Running(process: process, fault: fault, errors: errors) }
        let end = ContinuousClock.now + .seconds(30)
        while PeerIdentity.listener(at: socket)?.processID != process.processIdentifier {
            guard process.isRunning, ContinuousClock.now < end else {
                await stop()
                throw errors.failure ?? CommandFailure(.providerUnavailable, "the provider did not start")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Stops the provider that this page has started, if any, and waits until it ends.
    func stop() async {
        guard let last = running.withLock({ $0.take() }), last.process.isRunning else { return }
        last.process.terminate()
        let end = ContinuousClock.now + .seconds(10)
        while last.process.isRunning, ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Runs a command of `keyshare-provider`, and waits until it ends.
    ///
    /// - Throws: The failure that the command printed to standard error.
    func run(_ arguments: [String]) async throws {
        let process = Process()
        let errors = ErrorText()
        process.executableURL = try Self.program()
        process.arguments = arguments + ["--device", folder, "--quiet"]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = errors.pipe
        let status = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                continuation.resume(throwing: error)
            }
        }
        guard status != 0 else { return }
        throw errors.failure ?? CommandFailure(.unexpected, "keyshare-provider ended with status \(status)")
    }

    /// Returns the URL of the `keyshare-provider` executable. Searches the folder of this executable first, then
    /// `PATH`.
    private static func program() throws -> URL {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let ownFolder = URL(fileURLWithPath: own).deletingLastPathComponent().path
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = [ownFolder] + path.split(separator: ":").map(String.init)
        let programs = folders.map { $0 + "/keyshare-provider" }
        guard let program = programs.first(where: FileManager.default.isExecutableFile) else {
            throw CommandFailure(
                .noSuchItem, "keyshare-provider is neither in the folder of this program nor in PATH",
                hint: "start a provider in a terminal: keyshare-provider serve")
        }
        return URL(fileURLWithPath: program)
    }
}

/// Collects the first 8,192 bytes of a command's standard error.
private final class ErrorText: Sendable {
    let pipe = Pipe()
    private let bytes = Mutex<[UInt8]>([])

    init() {
        pipe.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            guard !data.isEmpty else {
                handle.readabilityHandler = nil
                return
            }
            self?.bytes.withLock { $0 = Array(($0 + data).prefix(8_192)) }
        }
    }

    /// The failure and the hint that the command printed; nil if it printed none.
    var failure: CommandFailure? {
        let text = bytes.withLock { String(decoding: $0, as: UTF8.self) }
        let lines = text.split(separator: "\n").map(String.init)
        guard let line = lines.last(where: { $0.hasPrefix("keyshare-provider: ") }) else { return nil }
        let hint = lines.last { $0.hasPrefix("hint: ") }.map { String($0.dropFirst(6)) }
        return CommandFailure(
            .providerUnavailable, code: "provider-command",
            String(line.dropFirst("keyshare-provider: ".count)),
            hint: hint)
    }
}
