import ArgumentParser
import CommandSupport
import Foundation

extension PKCS11 {
    /// A program whose setup commands are known.
    enum Client: String, CaseIterable, ExpressibleByArgument {
        case ssh, openssl
        case pkcs11Provider = "pkcs11-provider"
        case curl, nss, firefox, gpgsm, java, gnutls, python
        case p11Kit = "p11-kit"

        /// Returns the shell commands, with comments.
        func lines(module: String) -> [String] {
            let quoted = module.quotedForShell
            return switch self {
            case .ssh: Self.ssh(module)
            case .openssl:
                [
                    "# Debian: apt-get install libengine-pkcs11-openssl",
                    "export PKCS11_MODULE_PATH=\(quoted)",
                    "openssl dgst -engine pkcs11 -keyform engine -sign \(Self.key) -sha256 -out FILE.sig FILE",
                    "# A message, encrypted with PKCS #1 v1.5 or with OAEP:",
                    "openssl cms -decrypt -engine pkcs11 -keyform engine -inkey \(Self.key) -recip CERT.pem "
                        + "-in MESSAGE.eml",
                ]
            case .pkcs11Provider: Self.pkcs11Provider(quoted)
            case .curl:
                [
                    "# Debian: apt-get install libengine-pkcs11-openssl",
                    "export PKCS11_MODULE_PATH=\(quoted)",
                    "curl --engine pkcs11 --cert-type ENG --cert \(Self.certificate) "
                        + "--key-type ENG --key \(Self.key) URL",
                ]
            case .nss:
                [
                    "# Debian: apt-get install libnss3-tools. Chromium and others share this database.",
                    "mkdir -p ~/.pki/nssdb",
                    "certutil -N -d sql:\"$HOME/.pki/nssdb\" --empty-password",
                ] + Self.database("\"$HOME/.pki/nssdb\"", quoted)
            case .firefox:
                [
                    "# Debian: apt-get install libnss3-tools. Close Firefox first.",
                    "# PROFILE is the profile's folder, as about:profiles shows it.",
                ] + Self.database("PROFILE", quoted)
            case .gpgsm: Self.gpgsm(quoted)
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
                    "gnutls-cli --provider=\(quoted) --x509certfile=\(Self.certificate) "
                        + "--x509keyfile=\(Self.key) HOST",
                ]
            case .python: Self.python(module)
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

extension PKCS11.Client {
    private static let key = "'pkcs11:object=LABEL;type=private'"
    private static let certificate = "'pkcs11:object=LABEL;type=cert'"

    private static func ssh(_ module: String) -> [String] {
        let folder = (module as NSString).deletingLastPathComponent.quotedForShell
        return [
            "# The public keys, for authorized_keys on HOST:", "ssh-keygen -D \(module.quotedForShell)",
            "# Logging in:", "ssh -I \(module.quotedForShell) HOST",
            "# To log in without -I, add this line to ~/.ssh/config:", "# PKCS11Provider \(module)",
            "# Through an agent. Press Enter at its PIN prompt, unless keyshare-provider serves with --token-login pin:",
            "eval \"$(ssh-agent -P \(folder)'/*')\"", "ssh-add -s \(module.quotedForShell)",
        ]
    }

    /// Returns commands for the pkcs11 provider of OpenSSL 3. OAEP padding needs separate options.
    private static func pkcs11Provider(_ module: String) -> [String] {
        let use = "openssl pkeyutl -provider pkcs11 -provider default"
        return [
            "# Debian 13: apt-get install pkcs11-provider",
            "export PKCS11_PROVIDER_MODULE=\(module)",
            "\(use) -sign -inkey \(key) -rawin -digest sha256 -in FILE -out FILE.sig",
            "# A file, encrypted with PKCS #1 v1.5:",
            "\(use) -decrypt -inkey \(key) -in FILE -out FILE.txt",
            "# A file, encrypted with OAEP and SHA-256:",
            "\(use) -decrypt -inkey \(key) -pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_md:sha256 "
                + "-in FILE -out FILE.txt",
        ]
    }

    /// Returns commands that add the module and the authorities of the test PKI to an NSS database. Each authority gets
    /// its own file, because certutil reads only one certificate per file.
    private static func database(_ folder: String, _ module: String) -> [String] {
        [
            "modutil -dbdir sql:\(folder) -add keyshare -libfile \(module) -force",
            "# The authorities of the test PKI, for TLS servers (C) and S/MIME messages (the second C):",
            "keyshare-provider trust --format der --force -o keyshare-ca",
            "for ca in keyshare-ca/*.cer; do",
            "  certutil -A -d sql:\(folder) -n \"$(basename \"$ca\" .cer)\" -t C,C, -i \"$ca\"",
            "done",
            "# The certificates of the token:",
            "certutil -L -d sql:\(folder) -h all",
        ]
    }

    private static func gpgsm(_ module: String) -> [String] {
        [
            "# Debian: apt-get install gpgsm gnupg-pkcs11-scd. RSA keys only. gpgsm 2.2 decrypts no message that is",
            "# encrypted with OAEP: encrypt with PKCS #1 v1.5 (keyshare-provider mail --rsa pkcs1).",
            "printf 'providers keyshare\\nprovider-keyshare-library %s\\n' \(module) "
                + ">> ~/.gnupg/gnupg-pkcs11-scd.conf",
            "echo \"scdaemon-program $(command -v gnupg-pkcs11-scd)\" >> ~/.gnupg/gpg-agent.conf",
            "gpgconf --kill gpg-agent",
            "keyshare-provider trust --force -o test-ca.pem",
            "gpgsm --import test-ca.pem",
            "gpgsm --learn-card",
            "gpgsm --list-secret-keys",
            "gpgsm --disable-crl-checks --local-user KEYID --sign --output FILE.p7s FILE",
            "gpgsm --disable-crl-checks --decrypt --output FILE.txt FILE.p7m",
        ]
    }

    private static func python(_ module: String) -> [String] {
        [
            "# Debian: apt-get install python3-pykcs11",
            "python3 - <<'END'",
            "from PyKCS11 import *",
            "library = PyKCS11Lib()",
            "library.load(\(module.quotedForPython))",
            "session = library.openSession(library.getSlotList(tokenPresent=True)[0])",
            "key = session.findObjects([(CKA_CLASS, CKO_PRIVATE_KEY), (CKA_KEY_TYPE, CKK_RSA), (CKA_SIGN, True)])[0]",
            "print(bytes(session.sign(key, b'text', Mechanism(CKM_SHA256_RSA_PKCS))).hex())",
            "# Data encrypted with OAEP and SHA-256, with a key that has CKA_DECRYPT:",
            "# session.decrypt(key, data, RSAOAEPMechanism(CKM_SHA256, CKG_MGF1_SHA256))",
            "END",
        ]
    }
}

extension String {
    /// The text as a Python string literal.
    fileprivate var quotedForPython: String {
        "'" + replacingScalars { ["\\": "\\\\", "'": "\\'"][$0] } + "'"
    }
}
