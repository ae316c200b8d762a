internal import Diagnostics
internal import DeviceSimulation
internal import KeyShareConsumer
package import KeyShareProvider
internal import OpenSSL

extension CommandFailure {
    /// This failure with a hint on what `bytes` are, where they are a zip, PEM or a bare certificate and no
    /// PKCS #12 file.
    package func advising(on bytes: [UInt8]) -> CommandFailure {
        guard status == .malformed else { return self }
        if FileReader.isZip(bytes) {
            return advising("this is a zip; keyshare-consumer import --file takes it")
        }
        if bytes.starts(with: Array("-----BEGIN ".utf8)) {
            return advising("this is PEM; keyshare-consumer classify shows certificates")
        }
        if (try? Certificate(der: bytes)) != nil {
            return advising("this is a certificate; keyshare-consumer classify shows it")
        }
        return self
    }

    /// The failure of a command that must not go on with a keychain or a device that has these problems.
    package init(damage problems: [IntegrityProblem]) {
        let isKeychain = problems.contains { $0.kind != .device }
        self.init(
            .damaged,
            "the \(isKeychain ? "keychain" : "device") has \(counted(problems.count, "problem", "problems"))",
            hint: !isKeychain
                ? "close the folders to others with chmod 700; keyshare-device reset makes the device anew"
                : problems.contains { $0.kind == .structure }
                    ? KeychainError.remedyOfDamage : KeychainError.remedyOfAlteration)
    }
}
