import ArgumentParser
import CommandSupport
import Conformance
import Foundation
import OpenSSL
import SecretMemory
import TestCredentials
import TestVectors

/// The settings for test vectors, except seed and date.
struct VectorOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The PKCS #12 profile, unless a test vector specifies one: modern, compatible, "
                + "purebred-sample, sample-served or pbmac1.", valueName: "profile"))
    var profile: VectorProfile = .modern

    @Option(help: ArgumentHelp("The holder of the credentials (default: a random name).", valueName: "name"))
    var person: String?

    @OptionGroup var password: PasswordOptions

    /// Whether an option differs from its default.
    var isGiven: Bool { profile != .modern || person != nil || password.isGiven }

    /// Returns the settings of a suite for a seed and a date. A nil seed means the system's randomness.
    func settings(seed: UInt64?, at date: Date) throws -> TestVectorSuite.Settings {
        var text = TestVectorSuite.usualPassword
        if let given = try password.password() {
            guard let valid = unsafe given.withUnsafeBytes({ unsafe String(validating: $0, as: UTF8.self) }),
                !valid.isEmpty, !valid.contains("\0")
            else {
                throw CommandFailure(
                    .usage, "the password of test vectors must be non-empty UTF-8 without zero bytes")
            }
            text = valid
        }
        let source: RandomSource = seed.map { .seeded(Seed(String($0))) } ?? .system
        var settings = TestVectorSuite.Settings(at: date, password: text, from: source)
        settings.profile = PKCS12Profile(profile.name)
        settings.profile.includesChain = true
        if let person {
            var description = PersonDescription()
            description.name = person
            settings.person = try PersonDescription.persons([description], seed: seed).first
        }
        return settings
    }

    /// Returns the command that writes these test vectors again: PKCS #12 files and archives, or messages. It writes all
    /// of their kind if there are too many for one line.
    func command(seed: UInt64, at date: Date, names: [String], areMessages: Bool) -> String {
        var words =
            areMessages
            ? ["keyshare-provider", "conformance", "-o", "messages"]
            : ["keyshare-provider", "faults", "--write", "vectors"]
        if (1...8).contains(names.count) {
            words += ["--only"] + names
        } else if areMessages {
            words += ["--only", "messages"]
        }
        words += ["--seed", "\(seed)", "--at", date.formatted(.iso8601)]
        if profile != .modern { words += ["--profile", profile.rawValue] }
        if let person { words += ["--person", person.quotedForShell] }
        if let file = password.passwordFile { words += ["--password-file", file.quotedForShell] }
        if let variable = password.passwordEnv { words += ["--password-env", variable.quotedForShell] }
        if password.passwordStdin { words.append("--password-stdin") }
        return words.joined(separator: " ")
    }
}

extension VectorSelection {
    /// Throws `CommandFailure` (64) if a word matches neither a test vector nor a group.
    func requireKnownNames() throws(CommandFailure) {
        guard let unknown = unknown.first else { return }
        throw CommandFailure(
            .usage, "there is no test vector or group \u{201C}\(unknown.word)\u{201D}",
            hint: (unknown.nearest.map { "did you mean \u{201C}\($0)\u{201D}? " } ?? "")
                + "see keyshare-provider conformance --list")
    }
}

/// The PKCS #12 profiles for test vectors.
enum VectorProfile: String, ExpressibleByArgument, CaseIterable {
    case modern, compatible, pbmac1
    case purebredSample = "purebred-sample"
    case sampleServed = "sample-served"

    var name: PKCS12Profile.Name {
        switch self {
        case .modern: .modern
        case .compatible: .compatible
        case .pbmac1: .pbmac1
        case .purebredSample: .purebredSample
        case .sampleServed: .sampleServed
        }
    }
}
