import ArgumentParser
import CommandSupport
import Foundation

struct PKCS11: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pkcs11",
        abstract: "Print the lines that make a program use the persistent token through PKCS #11.",
        discussion: """
            keyshare-provider serve is the token, and libkeyshare-pkcs11.so stands before it. Words in capitals are \
            yours to fill in: LABEL is an object's name, as pkcs11-tool -O or p11tool --list-all shows it.

            EXAMPLE:
              keyshare-device pkcs11 --for ssh
              keyshare-device pkcs11 --for p11-kit
              keyshare-device pkcs11 --path
            """)

    @Option(name: .customLong("for"), help: "The program: \(Client.names).")
    var client: Client?

    @Flag(help: "Print the path of the module alone, for scripts.")
    var path = false

    @Option(
        help: ArgumentHelp(
            "The module (default: libkeyshare-pkcs11.so beside this command, or where a package puts it).",
            valueName: "path"))
    var module: String?

    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (client == nil) == path else { throw ValidationError("give either --for or --path") }
    }

    func run() throws {
        let module = try modulePath()
        let lines = client?.lines(module: module) ?? [module]
        try output.console.present(PKCS11Document(client: client?.rawValue, module: module, lines: lines)) {
            for line in lines { try output.console.data(line) }
        }
    }

    private func modulePath() throws -> String {
        if let module {
            let path = URL(fileURLWithPath: module).standardizedFileURL.path
            guard FileManager.default.isReadableFile(atPath: path) else {
                throw CommandFailure(
                    .noSuchItem, "there is no module at \(path)", hint: "--module names libkeyshare-pkcs11.so"
                )
            }
            return path
        }
        let command = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent()
        // A package puts the module where p11-kit looks for modules.
        #if arch(arm64)
            let triplet = "aarch64-linux-gnu"
        #else
            let triplet = "x86_64-linux-gnu"
        #endif
        let places = ["", "../pkcs11/", "../\(triplet)/pkcs11/", "../lib/", "../lib/keyshare/"].map {
            command.appendingPathComponent($0 + "libkeyshare-pkcs11.so").standardizedFileURL.path
        }
        guard let found = places.first(where: FileManager.default.isReadableFile(atPath:)) else {
            throw CommandFailure(
                .noSuchItem, "libkeyshare-pkcs11.so is not beside this command",
                hint: "swift build --product keyshare-pkcs11 makes it; --module names another place")
        }
        return found
    }
}

extension PKCS11 {
    /// The programs whose lines are known.
    enum Client: String, CaseIterable, ExpressibleByArgument {
        case ssh, openssl, curl, nss, java, gnutls
        case p11Kit = "p11-kit"

        static let names = allCases.map(\.rawValue).joined(separator: ", ")

        /// The lines for a shell, with comments.
        func lines(module: String) -> [String] {
            let quoted = "'" + module.replacingOccurrences(of: "'", with: "'\\''") + "'"
            let folder =
                "'"
                + (module as NSString).deletingLastPathComponent.replacingOccurrences(of: "'", with: "'\\''")
            let key = "'pkcs11:object=LABEL;type=private'"
            let certificate = "'pkcs11:object=LABEL;type=cert'"
            return switch self {
            case .ssh:
                [
                    "# The public keys, for authorized_keys on HOST:", "ssh-keygen -D \(quoted)",
                    "# Logging in:", "ssh -I \(quoted) HOST",
                    "# For good, a line for ~/.ssh/config:", "# PKCS11Provider \(module)",
                    "# Through an agent; its question for a PIN matters where keyshare-provider serves with --token-login pin alone:",
                    "eval \"$(ssh-agent -P \(folder)/*')\"", "ssh-add -s \(quoted)",
                ]
            case .openssl:
                [
                    "# Debian: apt-get install libengine-pkcs11-openssl",
                    "export PKCS11_MODULE_PATH=\(quoted)",
                    "openssl dgst -engine pkcs11 -keyform engine -sign \(key) -sha256 -out FILE.sig FILE",
                ]
            case .curl:
                [
                    "# Debian: apt-get install libengine-pkcs11-openssl",
                    "export PKCS11_MODULE_PATH=\(quoted)",
                    "curl --engine pkcs11 --cert-type ENG --cert \(certificate) --key-type ENG --key \(key) URL",
                ]
            case .nss:
                [
                    "# Chromium and others that share a database; for Firefox, -d names the profile's folder.",
                    "mkdir -p ~/.pki/nssdb",
                    "certutil -N -d sql:\"$HOME/.pki/nssdb\" --empty-password",
                    "modutil -dbdir sql:\"$HOME/.pki/nssdb\" -add keyshare -libfile \(quoted) -force",
                    "certutil -L -d sql:\"$HOME/.pki/nssdb\" -h all",
                ]
            case .java:
                [
                    "printf 'name=keyshare\\nlibrary=%s\\nslotListIndex=0\\n' \(quoted) > keyshare.cfg",
                    "# The PIN is the device's passcode: 123456, unless keyshare-device passcode set another.",
                    "keytool -list -keystore NONE -storetype PKCS11 -storepass 123456 "
                        + "-providerClass sun.security.pkcs11.SunPKCS11 -providerArg keyshare.cfg",
                ]
            case .gnutls:
                [
                    "p11tool --provider=\(quoted) --list-all",
                    "gnutls-cli --provider=\(quoted) --x509certfile=\(certificate) --x509keyfile=\(key) HOST",
                ]
            case .p11Kit:
                [
                    "# For programs of root the folder is /etc/pkcs11/modules.",
                    "mkdir -p ~/.config/pkcs11/modules",
                    "printf 'module: %s\\n' \(quoted) > ~/.config/pkcs11/modules/keyshare.module",
                    "p11-kit list-modules",
                ]
            }
        }
    }
}
