// swift-tools-version: 6.2
import PackageDescription

// Products of other packages, by the names that the targets use.
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let serviceLifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let swiftASN1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
// For SQLite's limits, which GRDB does not expose.
let grdbSQLite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")

let package = Package(
    name: "KeySharing",
    // The product KeySharing is for apps; the rest of the package runs on Linux.
    platforms: [.macOS(.v15), .iOS(.v16), .macCatalyst(.v16), .visionOS(.v1)],
    products: [
        .library(name: "KeySharing", targets: ["KeySharing"]),
        .executable(name: "keyshare-provider", targets: ["keyshare-provider"]),
        .executable(name: "keyshare-consumer", targets: ["keyshare-consumer"]),
        .executable(name: "keyshare-device", targets: ["keyshare-device"]),
        .executable(name: "keyshare", targets: ["keyshare"]),
        // libkeyshare-pkcs11.so, which other programs load: the token for ssh, OpenSSL, browsers and others.
        .library(name: "keyshare-pkcs11", type: .dynamic, targets: ["PKCS11Module"]),
    ],
    traits: [
        .trait(name: "Tools", description: "The commands and the PKCS #11 module, with their packages."),
        .default(enabledTraits: ["Tools"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // The rules of both mechanisms, as pure values: the library for other packages.
        .target(
            name: "UTTypes", path: "UTTypes",
            resources: [
                .embedInCode("SystemTypes.plist"), .embedInCode("LegacyTypes.plist"),
                .embedInCode("KeySharing2025Types.plist"),
            ]),
        .target(name: "KeySharing", dependencies: ["UTTypes"]),

        // Modules that all others may use.
        .target(name: "Diagnostics"),
        .target(name: "SecretMemory"),
        .target(name: "StandardExtensions"),
        .target(name: "PrivateFiles", dependencies: ["CLinux", "Diagnostics", "SecretMemory"]),

        // C libraries: a module map and a shim header each, and wrappers that no C type leaves.
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLibZip", pkgConfig: "libzip", providers: [.apt(["libzip-dev"])]),
        .target(name: "CLinux"),
        .target(
            name: "OpenSSL",
            dependencies: [
                "COpenSSL", "Diagnostics", "KeySharing", "SecretMemory", "StandardExtensions", swiftASN1,
            ]),
        .target(name: "ZipBundles", dependencies: ["CLibZip", "Diagnostics"]),
        .target(name: "LocalSockets", dependencies: ["CLinux", "Diagnostics", nioPosix]),

        // The numbers of the protocol between consumer and provider.
        .target(name: "KeyShareProtocol"),

        // The persistent token: its algorithms and errors as pure values, and the algorithms through OpenSSL.
        .target(name: "PersistentToken", dependencies: ["Diagnostics", "KeyShareProtocol", "KeySharing"]),
        .target(
            name: "KeyOperations",
            dependencies: ["KeyShareProtocol", "OpenSSL", "PersistentToken", "SecretMemory"]),

        // Reading of certificates and files.
        .target(name: "CertificateReading", dependencies: ["KeySharing", "OpenSSL", "StandardExtensions"]),
        .target(
            name: "CertificateLint",
            dependencies: [
                "CertificateReading", "Diagnostics", "KeySharing", "OpenSSL", "StandardExtensions",
            ]),
        .target(name: "PKCS12Compatibility", dependencies: ["OpenSSL"]),
        .target(name: "PathValidation", dependencies: ["KeySharing", "OpenSSL", "PrivateFiles"]),

        // Mail that is signed and encrypted.
        .target(
            name: "SecureMail",
            dependencies: ["CLinux", "Diagnostics", "OpenSSL", "PrivateFiles", "SecretMemory"]),

        // The simulated device.
        .target(
            name: "SimulatedKeychain",
            dependencies: ["Diagnostics", "OpenSSL", "PrivateFiles", "SecretMemory", grdb, grdbSQLite]),
        .target(
            name: "DeviceSimulation",
            dependencies: [
                "Diagnostics", "KeySharing", "LocalSockets", "OpenSSL", "PrivateFiles", "SecretMemory",
                "SimulatedKeychain", "StandardExtensions",
            ]),

        // The connection between the two sides.
        .target(
            name: "KeyShareWire",
            dependencies: [
                "Diagnostics", "KeyShareProtocol", "KeySharing", "PersistentToken", "SecretMemory", nioCore,
            ]),
        .target(
            name: "KeyShareClient",
            dependencies: [
                "KeyShareProtocol", "KeyShareWire", "KeySharing", "LocalSockets", "PersistentToken",
                "SecretMemory", nioCore, nioPosix,
            ]),
        .target(
            name: "KeyShareServer",
            dependencies: [
                "CLinux", "Diagnostics", "KeyShareProtocol", "KeyShareWire", "KeySharing", "LocalSockets",
                "PersistentToken", "PrivateFiles", "SecretMemory", logging, nioCore, nioPosix,
                serviceLifecycle,
            ]),
        .target(
            name: "LoopbackHTTP",
            dependencies: [
                "CLinux", "LocalSockets", "SecretMemory", logging, nioCore, nioHTTP1, nioPosix,
                serviceLifecycle,
            ]),

        // The two sides; they never import each other, nor each other's half of the connection.
        .target(
            name: "KeyShareProvider",
            dependencies: [
                "CertificateReading", "DeviceSimulation", "KeyOperations", "KeyShareProtocol",
                "KeyShareServer", "KeyShareWire", "KeySharing", "OpenSSL", "PersistentToken", "SecretMemory",
                "SimulatedKeychain", "StandardExtensions", "ZipBundles",
            ]),
        .target(
            name: "KeyShareConsumer",
            dependencies: [
                "CertificateReading", "DeviceSimulation", "Diagnostics", "KeyOperations", "KeyShareClient",
                "KeyShareProtocol", "KeyShareWire", "KeySharing", "LocalSockets", "OpenSSL", "PathValidation",
                "PersistentToken", "SecretMemory", "SecureMail", "SimulatedKeychain", "StandardExtensions",
                "ZipBundles",
            ]),

        // Modules that use both sides: test material, and every channel between two apps.
        .target(
            name: "TestCredentials",
            dependencies: [
                "CertificateReading", "DeviceSimulation", "Diagnostics", "KeyShareProvider", "KeySharing",
                "LoopbackHTTP", "OpenSSL", "PrivateFiles", "SecretMemory", "SimulatedKeychain",
                "StandardExtensions", swiftASN1, yams,
            ],
            resources: [.embedInCode("Data/Profiles")]),
        .target(
            name: "TestVectors",
            dependencies: [
                "CertificateReading", "DeviceSimulation", "Diagnostics", "KeyShareProvider", "KeySharing",
                "OpenSSL", "SecretMemory", "SecureMail", "SimulatedKeychain", "StandardExtensions",
                "TestCredentials", "ZipBundles",
            ]),
        .target(
            name: "Scenarios",
            dependencies: [
                "CertificateReading", "Diagnostics", "KeyShareProvider", "KeySharing", "OpenSSL",
                "SecretMemory", "StandardExtensions", "TestCredentials", "TestVectors",
            ],
            resources: [.embedInCode("Data/Scenarios")]),
        .target(
            name: "Conformance",
            dependencies: [
                "CLinux", "DeviceSimulation", "Diagnostics", "KeyShareProtocol", "KeyShareProvider",
                "KeyShareServer", "KeyShareWire", "KeySharing", "OpenSSL", "PKCS12Compatibility",
                "PrivateFiles", "SecretMemory", "StandardExtensions", "TestCredentials", "TestVectors",
                logging,
            ]),
        .target(
            name: "SharingChannels",
            dependencies: [
                "DeviceSimulation", "Diagnostics", "KeyOperations", "KeyShareClient", "KeyShareConsumer",
                "KeyShareProtocol", "KeyShareServer", "KeyShareWire", "KeySharing", "LocalSockets",
                "LoopbackHTTP", "OpenSSL", "PersistentToken", "PrivateFiles", "SecretMemory",
                "SimulatedKeychain", "StandardExtensions", grdb, logging,
            ]),

        // The token for other programs: no Foundation, no NIO, no OpenSSL, no thread.
        .target(name: "TokenClient", dependencies: ["CLinux", "KeyShareProtocol", "SecretMemory"]),
        .target(name: "CPKCS11"),
        .target(
            name: "PKCS11Module",
            dependencies: ["CPKCS11", "KeyShareProtocol", "SecretMemory", "TokenClient"],
            exclude: ["exported-symbols.map", "linking"],
            linkerSettings: [
                // The module contains its runtime and exports only the standard's functions, so that it does not disturb
                // the programs that load it. It needs only the C library.
                .unsafeFlags([
                    "-static-stdlib", "-L\(Context.packageDirectory)/Sources/PKCS11Module/linking",
                    "-Xclang-linker", "-static-libgcc", "-Xlinker",
                    "--version-script=\(Context.packageDirectory)/Sources/PKCS11Module/exported-symbols.map",
                    "-Xlinker", "-z", "-Xlinker", "defs", "-Xlinker", "--gc-sections",
                    // The Swift runtime cannot be unloaded without leaving 32 KB in the program each time.
                    "-Xlinker", "-z", "-Xlinker", "nodelete",
                    // Unlike the system's linker, the toolchain's own linker finds symbols regardless of the order of
                    // archives, and merges identical functions.
                    "-use-ld=lld", "-Xlinker", "--icf=safe",
                ])
            ]),

        // The commands.
        .target(
            name: "CommandSupport",
            dependencies: [
                "CLinux", "CertificateLint", "CertificateReading", "DeviceSimulation", "Diagnostics",
                "KeyShareProtocol", "KeyShareWire", "KeySharing", "LocalSockets", "OpenSSL",
                "PersistentToken", "PrivateFiles", "SecretMemory", "SimulatedKeychain", "StandardExtensions",
                "ZipBundles", argumentParser,
            ]),
        .target(
            name: "WebView",
            dependencies: [
                "CertificateReading", "CommandSupport", "DeviceSimulation", "Diagnostics", "KeyShareClient",
                "KeyShareConsumer", "KeyShareProtocol", "KeyShareProvider", "KeyShareWire", "KeySharing",
                "LocalSockets", "LoopbackHTTP", "OpenSSL", "Scenarios", "SimulatedKeychain",
                "TestCredentials", "ZipBundles", logging, serviceLifecycle,
            ],
            resources: [
                "android.css", "android.js", "diagram.js", "dialogs.js", "dom.js", "events.js", "icon.svg",
                "keychains.js", "layout.js", "page.css",
                "page.html", "page.js", "phone.js", "picker.js", "request.js", "sequence.js", "server.js",
            ].map { .embedInCode("Resources/\($0)") }),
        .target(
            name: "KeyShareProviderCommand",
            dependencies: [
                "CertificateReading", "CommandSupport", "Conformance", "DeviceSimulation", "Diagnostics",
                "KeyShareProtocol", "KeyShareProvider", "KeyShareServer", "KeyShareWire", "KeySharing",
                "LocalSockets", "LoopbackHTTP", "OpenSSL", "PersistentToken", "PrivateFiles", "Scenarios",
                "SecretMemory", "SimulatedKeychain", "StandardExtensions", "TestCredentials", "TestVectors",
                logging, serviceLifecycle, unixSignals,
            ]),
        .target(
            name: "KeyShareConsumerCommand",
            dependencies: [
                "CertificateLint", "CertificateReading", "CommandSupport", "DeviceSimulation", "Diagnostics",
                "KeyOperations", "KeyShareClient", "KeyShareConsumer", "KeyShareProtocol", "KeyShareWire",
                "KeySharing", "LocalSockets", "LoopbackHTTP", "OpenSSL", "PKCS12Compatibility",
                "PathValidation", "PersistentToken", "PrivateFiles", "SecretMemory", "SecureMail",
                "SimulatedKeychain", "StandardExtensions", "ZipBundles", unixSignals,
            ]),
        .target(
            name: "KeyShareDeviceCommand",
            dependencies: [
                "CommandSupport", "DeviceSimulation", "Diagnostics", "KeyShareClient", "KeyShareWire",
                "KeySharing", "LocalSockets", "LoopbackHTTP", "PrivateFiles", "SecretMemory",
                "SharingChannels", "SimulatedKeychain", "WebView", logging, serviceLifecycle, unixSignals,
            ]),
        .executableTarget(
            name: "keyshare-provider", dependencies: ["CommandSupport", "KeyShareProviderCommand"]),
        .executableTarget(
            name: "keyshare-consumer", dependencies: ["CommandSupport", "KeyShareConsumerCommand"]),
        .executableTarget(
            name: "keyshare-device", dependencies: ["CommandSupport", "KeyShareDeviceCommand"]),
        // All three commands as one file, which scripts/package installs with three names.
        .executableTarget(
            name: "keyshare",
            dependencies: [
                "CommandSupport", "KeyShareConsumerCommand", "KeyShareDeviceCommand",
                "KeyShareProviderCommand", argumentParser,
            ]),

        // Tests.
        .target(
            name: "Fixtures", dependencies: ["TestVectors"], path: "Fixtures", exclude: ["README.md"],
            resources: [.copy("Files")]),
        .target(
            name: "TestSupport",
            dependencies: [
                "COpenSSL", "DeviceSimulation", "KeyShareClient", "KeyShareProtocol", "KeyShareServer",
                "KeyShareWire", "KeySharing", "OpenSSL", "PathValidation", "PersistentToken", "SecretMemory",
                "SimulatedKeychain", logging, nioCore,
            ], path: "Tests/TestSupport"),
        .testTarget(name: "DiagnosticsTests", dependencies: ["Diagnostics"]),
        .testTarget(name: "SecretMemoryTests", dependencies: ["SecretMemory"]),
        .testTarget(
            name: "OpenSSLTests",
            dependencies: [
                "COpenSSL", "Diagnostics", "KeySharing", "OpenSSL", "PrivateFiles", "SecretMemory",
                "StandardExtensions", "TestSupport", swiftASN1,
            ]),
        .testTarget(
            name: "PersistentTokenTests",
            dependencies: ["KeyShareProtocol", "KeySharing", "PersistentToken"]),
        .testTarget(
            name: "KeyOperationsTests",
            dependencies: [
                "KeyOperations", "KeyShareProtocol", "OpenSSL", "PersistentToken", "SecretMemory",
                "TestSupport",
            ],
            exclude: ["Vectors/make-vectors"], resources: [.copy("Vectors/vectors.json")]),
        .testTarget(
            name: "PKCS12CompatibilityTests",
            dependencies: ["OpenSSL", "PKCS12Compatibility", "SecretMemory", "TestSupport", swiftASN1]),
        .testTarget(
            name: "PathValidationTests",
            dependencies: ["KeySharing", "OpenSSL", "PathValidation", "SecretMemory", "TestSupport"]),
        .testTarget(
            name: "SecureMailTests",
            dependencies: [
                "Diagnostics", "OpenSSL", "PrivateFiles", "SecretMemory", "SecureMail", "TestSupport",
            ]),
        .testTarget(name: "ZipBundlesTests", dependencies: ["CLibZip", "TestVectors", "ZipBundles"]),
        .testTarget(name: "KeySharingTests", dependencies: ["KeySharing", "UTTypes"]),
        .testTarget(
            name: "CertificateReadingTests",
            dependencies: ["CertificateReading", "KeySharing", "OpenSSL", "TestSupport"]),
        .testTarget(
            name: "CertificateLintTests",
            dependencies: ["CertificateLint", "KeySharing", "OpenSSL", "SecretMemory", "TestSupport"]),
        .testTarget(
            name: "CommandSupportTests",
            dependencies: [
                "CertificateLint", "CommandSupport", "DeviceSimulation", "Diagnostics", "KeyShareClient",
                "KeyShareConsumer", "KeyShareProtocol", "KeyShareProvider", "KeyShareServer", "KeyShareWire",
                "KeySharing", "LocalSockets", "LoopbackHTTP", "OpenSSL", "PathValidation", "Scenarios",
                "SecretMemory", "SecureMail", "SimulatedKeychain", "TestCredentials", "TestSupport",
                "TokenClient", "WebView", "ZipBundles",
            ]),
        .testTarget(
            name: "KeyShareConsumerCommandTests",
            dependencies: [
                "CommandSupport", "KeyShareConsumerCommand", "OpenSSL", "PathValidation", "TestSupport",
            ]),
        .testTarget(
            name: "PrivateFilesTests", dependencies: ["PrivateFiles", "SecretMemory", "TestSupport"]),
        .testTarget(
            name: "DeviceSimulationTests",
            dependencies: [
                "DeviceSimulation", "KeySharing", "PrivateFiles", "SecretMemory", "SharingChannels",
                "SimulatedKeychain", "TestSupport", grdb,
            ]),
        .testTarget(
            name: "KeyShareWireTests",
            dependencies: [
                "KeyShareProtocol", "KeyShareWire", "KeySharing", "OpenSSL", "PersistentToken",
                "SecretMemory", "TestSupport", nioCore,
            ],
            exclude: ["Vectors"]),
        .testTarget(
            name: "KeyShareServerTests",
            dependencies: [
                "CLinux", "KeyShareClient", "KeyShareProtocol", "KeyShareServer", "KeyShareWire",
                "KeySharing", "LocalSockets", "OpenSSL", "PersistentToken", "SecretMemory", "TestSupport",
                logging, nioCore, nioEmbedded,
            ]),
        .testTarget(
            name: "KeyShareClientTests",
            dependencies: [
                "KeyShareClient", "KeyShareProtocol", "KeyShareWire", "KeySharing", "LocalSockets",
                "PersistentToken", "SecretMemory", "TestSupport", nioCore, nioEmbedded, nioPosix,
            ]),
        .testTarget(
            name: "TokenClientTests",
            dependencies: [
                "DeviceSimulation", "KeyShareProtocol", "KeyShareWire", "OpenSSL", "PersistentToken",
                "SecretMemory", "TestSupport", "TokenClient",
            ]),
        // The module itself is loaded from its file, because its linker flags are not for a test runner.
        .testTarget(name: "PKCS11ModuleTests", dependencies: ["TestSupport"]),
        .testTarget(
            name: "LoopbackHTTPTests",
            dependencies: [
                "LocalSockets", "LoopbackHTTP", "SecretMemory", "TestSupport", logging, nioCore, nioPosix,
            ]),
        // Direct calls of libcrypto from C, to check the results of tokens.
        .target(name: "CTokenReference", dependencies: ["COpenSSL"], path: "Tests/CTokenReference"),
        .testTarget(
            name: "KeyShareProviderTests",
            dependencies: [
                "CTokenReference", "CertificateReading", "DeviceSimulation", "KeyOperations",
                "KeyShareClient", "KeyShareConsumer", "KeyShareProtocol", "KeyShareProvider",
                "KeyShareServer", "KeyShareWire", "KeySharing", "OpenSSL", "PersistentToken", "Scenarios",
                "SecretMemory", "SimulatedKeychain", "StandardExtensions", "TestCredentials", "TestSupport",
                "TestVectors", grdb, logging,
            ]),
        .testTarget(
            name: "KeyShareConsumerTests",
            dependencies: [
                "DeviceSimulation", "Diagnostics", "KeyOperations", "KeyShareClient", "KeyShareConsumer",
                "KeyShareProtocol", "KeyShareServer", "KeyShareWire", "KeySharing", "LocalSockets", "OpenSSL",
                "PathValidation", "PersistentToken", "PrivateFiles", "SecretMemory", "SecureMail",
                "SimulatedKeychain", "TestSupport", "ZipBundles", swiftASN1,
            ]),
        .testTarget(
            name: "TestCredentialsTests",
            dependencies: [
                "CertificateLint", "CertificateReading", "DeviceSimulation", "Diagnostics", "Fixtures",
                "KeyShareProvider", "KeySharing", "LoopbackHTTP", "OpenSSL", "Scenarios", "SecretMemory",
                "TestCredentials", "TestSupport", "TestVectors",
            ]),
        .testTarget(
            name: "ConformanceTests", dependencies: ["Conformance", "OpenSSL", "TestSupport", "TestVectors"]),
        .testTarget(
            name: "SharingChannelsTests",
            dependencies: [
                "CommandSupport", "DeviceSimulation", "Diagnostics", "KeyShareClient",
                "KeyShareDeviceCommand", "KeyShareProtocol", "KeyShareWire", "KeySharing", "LoopbackHTTP",
                "OpenSSL", "PrivateFiles", "SecretMemory", "SharingChannels", "SimulatedKeychain",
                "StandardExtensions", "TestSupport", nioCore, nioPosix,
            ]),
        .testTarget(
            name: "WebViewTests",
            dependencies: [
                "CommandSupport", "DeviceSimulation", "KeyShareProvider", "KeyShareServer", "KeyShareWire",
                "KeySharing", "LoopbackHTTP", "OpenSSL", "SimulatedKeychain", "TestCredentials",
                "TestSupport", "WebView", logging,
            ]),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "CertificateReading", "CommandSupport", "Conformance", "DeviceSimulation", "Diagnostics",
                "Fixtures", "KeyOperations", "KeyShareClient", "KeyShareConsumer", "KeyShareConsumerCommand",
                "KeyShareDeviceCommand", "KeyShareProtocol", "KeyShareProvider", "KeyShareProviderCommand",
                "KeyShareWire", "KeySharing", "LocalSockets", "OpenSSL", "PersistentToken", "PrivateFiles",
                "SecretMemory", "SecureMail", "SharingChannels", "SimulatedKeychain", "StandardExtensions",
                "TestCredentials", "TestSupport", "TestVectors", "ZipBundles", "keyshare",
                "keyshare-consumer", "keyshare-device", "keyshare-provider",
            ],
            exclude: ["Golden", "Programs"]),
    ]
)

// Benchmarks and fuzz targets, for scripts/bench and scripts/fuzz. Only libFuzzer can link `fuzz`, so name the product that
// you want. KEYSHARING_TOOLS=fuzz links the PKCS #11 module into the fuzzer instead of a library.
if Context.environment["KEYSHARING_TOOLS"] != nil {
    package.targets += [
        .executableTarget(
            name: "pkcs12-benchmark",
            dependencies: ["KeyShareConsumer", "OpenSSL", "SecretMemory", "ZipBundles"],
            path: "Benchmarks/pkcs12-benchmark"),
        .executableTarget(
            name: "keychain-benchmark",
            dependencies: [
                "CertificateReading", "DeviceSimulation", "KeyShareProvider", "KeyShareServer",
                "KeyShareWire", "KeySharing", "OpenSSL", "SecretMemory", "SimulatedKeychain",
                "StandardExtensions",
            ], path: "Benchmarks/keychain-benchmark"),
        .executableTarget(
            name: "nio-echo", dependencies: [nioCore, nioPosix], path: "Benchmarks/nio-echo"),
        .target(name: "CFuzzer", path: "Fuzz/CFuzzer"),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "CFuzzer", "CPKCS11", "KeyShareProtocol", "KeyShareWire", "KeySharing", "OpenSSL",
                "PKCS11Module", "PKCS12Compatibility", "SecretMemory", "TokenClient", "UTTypes", "ZipBundles",
                nioCore, swiftASN1,
            ], path: "Fuzz/fuzz"),
    ]
    for target in package.targets
    where target.name == "PKCS11Module" && Context.environment["KEYSHARING_TOOLS"] == "fuzz" {
        target.linkerSettings = []
    }
}

// The strictest flags for every Swift target. Warnings are errors only in CI, so that a new warning of a newer
// compiler does not break a user's build.
for target in package.targets
where target.type != .system && !["CLinux", "CPKCS11", "CFuzzer", "CTokenReference"].contains(target.name) {
    var settings: [SwiftSetting] = [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .strictMemorySafety(),
    ]
    if Context.environment["CI"] != nil {
        settings.append(.treatAllWarnings(as: .error))
        // CI tests optimized code. Optimizing tests, which run only once, takes longer than it saves. Tests use no internal
        // functions of the commands' modules, and modules are compiled faster if these need not be available to tests.
        if !target.name.hasSuffix("Command") {
            settings.append(.unsafeFlags([target.type == .test ? "-Onone" : "-enable-testing"]))
        }
        // This module is compiled last, so two processes share its files.
        let batches = ["-no-whole-module-optimization", "-enable-batch-mode"]
        if target.name == "EndToEndTests" { settings.append(.unsafeFlags(batches)) }
    }
    target.swiftSettings = settings
}

// The product KeySharing needs no other package: SwiftPM fetches none for a package that depends on it with `traits: []`.
for target in package.targets {
    target.dependencies = target.dependencies.map { item in
        guard case .productItem(let name, let package?, let aliases, _) = item else { return item }
        return .product(
            name: name, package: package, moduleAliases: aliases, condition: .when(traits: ["Tools"]))
    }
}
