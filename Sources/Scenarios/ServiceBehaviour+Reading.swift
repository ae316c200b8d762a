internal import Diagnostics
internal import KeyShareProvider
internal import OpenSSL
internal import TestCredentials

extension ServiceBehaviour {
    /// Reads the encryption settings of the exported files.
    mutating func readEncoder(_ value: YAMLNode) throws(ProvisioningError) {
        let fields = try value.fields(
            of: "an encoder", among: ["profile", "iterations", "chain", "friendly-name"])
        let limits = PKCS12Limits.standard
        profile = try fields.choice("profile", "a profile of PKCS #12")
        iterations = try fields.number("iterations", 1...limits.iterations)
        chain = try fields["chain"]?.flag()
        friendlyName = try fields.read("friendly-name") { value throws(ProvisioningError) in
            let expected = "a name of at most \(limits.friendlyName) characters"
            let name = try value.line(expected)
            guard name.unicodeScalars.count <= limits.friendlyName else {
                throw value.problem(expected: expected)
            }
            return name
        }
    }

    /// Reads the behaviour of the service.
    mutating func readService(_ value: YAMLNode) throws(ProvisioningError) {
        let fields = try value.fields(of: "a service", among: ["fault", "root", "pasteboard-expiry"])
        fault = try fields.choice("fault", "a fault of the service")
        root = try fields.choice("root", "the contents of the root")
        pasteboardExpiry = try fields.number("pasteboard-expiry", 0...86_400).map(Double.init)
    }
}
