internal import Foundation
internal import OpenSSL
internal import PrivateFiles
internal import SecretMemory
internal import Synchronization
package import TestVectors

/// The outcomes that are findings, the worst first.
package enum FuzzOutcome: String, Sendable, Hashable, Codable, CaseIterable {
    /// A signal ended the consumer, or an exit code that is not among its declared rejections.
    case crash
    /// The consumer exceeded its time limit.
    case hang
    /// The consumer used too much memory or started too many processes.
    case memory
    /// The consumer accepts a file that it must reject.
    case acceptsBad = "accepts-bad"
    /// The consumer imports different identities than this package's reader.
    case otherIdentities = "other-identities"
    /// The consumer rejects a file that it must accept.
    case refusesGood = "refuses-good"
}

/// The answer of a consumer to one file.
package enum FuzzAnswer: Sendable, Hashable {
    /// It accepts the file. `identities` is the number of imported identities, and `certificates` are the SHA-256
    /// digests of their certificates in lower-case hexadecimal; both are nil if the consumer does not report them.
    case accepted(identities: Int? = nil, certificates: Set<String>? = nil)
    case rejected
    case failed(FuzzOutcome)
    /// It was not run, because the run was stopped.
    case stopped
}

/// The program or function that a fuzzer tests.
package protocol FuzzTarget: Sendable {
    /// Whether the target is this package's own reader, which cannot be compared with itself.
    var isOwnReader: Bool { get }

    /// Returns the answer to a file, a phrase that describes it, and the end of standard error.
    func answer(to bytes: [UInt8], password: String) async throws -> (
        FuzzAnswer, seen: String, stderr: String
    )
}

/// This package's own reader, in this process.
package struct OwnReader: FuzzTarget {
    /// Always true.
    package let isOwnReader = true

    /// Creates the target.
    package init() {}

    /// Reads the file in this process.
    package func answer(
        to bytes: [UInt8], password: String
    ) -> (FuzzAnswer, seen: String, stderr: String) {
        do {
            let identities = try FuzzJudge.identities(in: bytes, .text(SecretBytes(utf8: password)))
            let digests = Set(identities.map { $0.label.lowercased() })
            return (.accepted(identities: digests.count, certificates: digests), "accepts it", "")
        } catch {
            // The reader may reject a file that exceeds a documented limit, even if the standard permits the file.
            if case .refused = error.code { return (.stopped, error.reason, "") }
            return (.rejected, error.reason, "")
        }
    }
}

/// A command that is run once for each file.
package final class CommandTarget: FuzzTarget {
    /// Always false.
    package let isOwnReader = false
    private let run: ConformanceRun
    private let folder: String
    private let material: MutationMaterial
    private let count = Atomic(0)

    /// Creates a target, and writes the authorities for the placeholders `{trust}` and `{crl}`.
    ///
    /// - Parameters:
    ///   - run: The command, its limits and the reading of its answers.
    ///   - material: The authorities.
    ///   - folder: An empty folder that only this user may enter.
    /// - Throws: `FileError` if a file cannot be written.
    package init(_ run: ConformanceRun, _ material: MutationMaterial, in folder: String) throws {
        self.run = run
        self.folder = folder
        self.material = material
        try AtomicFile.write(Array(material.trust.utf8), to: folder + "/trust.pem")
        try AtomicFile.write(Array(material.revocations.utf8), to: folder + "/revocations.pem")
    }

    /// Writes the file and runs the command on it.
    package func answer(
        to bytes: [UInt8], password: String
    ) async throws -> (FuzzAnswer, seen: String, stderr: String) {
        let number = count.add(1, ordering: .relaxed).newValue
        let place = "\(folder)/\(number)"
        try PrivateFolder.make(place)
        try PrivateFolder.make(place + "/out")
        // Files that remain are removed with the folder of all runs, and that removal reports its failure.
        defer { try? PrivateFolder.removeAll(place) }
        try AtomicFile.write(bytes, to: place + "/file.p12")
        try AtomicFile.write(Array((password + "\n").utf8), to: place + "/password")
        let result = await run.container.run(
            run.consumer.program,
            run.consumer.arguments([
                .file: place + "/file.p12", .passwordFile: place + "/password", .password: password,
                .trust: folder + "/trust.pem", .crl: folder + "/revocations.pem", .out: place + "/out",
            ]), environment: run.environment.merging(["KEYSHARE_DEVICE": place + "/device"]) { $1 },
            folder: run.workingFolder, limits: run.limits)
        let (answer, seen) = run.reading.answer(result, limits: run.limits)
        return (answer, seen, result.excerpt.replacing(place + "/", with: ""))
    }
}

extension AnswerReading {
    /// Reads the answer of a consumer from its exit code and output.
    fileprivate func answer(_ result: ProcessResult, limits: ProcessLimits) -> (FuzzAnswer, seen: String) {
        switch result.end {
        case .overTime: return (.failed(.hang), "killed after \(limits.time.formatted()) s")
        case .overMemory: return (.failed(.memory), "killed for using too much memory")
        case .overProcesses: return (.failed(.memory), "killed for starting too many processes")
        case .stopped: return (.stopped, "the run was stopped")
        case .notStarted(let code): return (.failed(.crash), "not started, errno \(code)")
        case .signal(let number): return (.failed(.crash), "ended by signal \(number)")
        case .exit(let code):
            let seen = "exit code \(code)"
            if code == 0 {
                let report = report(in: result.output)
                let certificates = report?.certificates.map { Set($0.map { $0.lowercased() }) }
                return (.accepted(identities: report?.identities, certificates: certificates), seen)
            }
            // A shell reports the signal that ended its command as 128 plus the number of the signal.
            let isSignal = [132, 134, 135, 136, 139].contains(code)
            let isDeclared = refusals.map { $0.contains(code) || passwordBlames.contains(code) }
            return (isDeclared ?? !isSignal ? .rejected : .failed(.crash), seen)
        }
    }
}
