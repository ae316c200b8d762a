// swift-tools-version: 6.2
import PackageDescription

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
        // The rules of both mechanisms, as pure values: what other packages may depend on.
        .target(
            name: "UTTypes", path: "UTTypes",
            resources: [
                .embedInCode("SystemTypes.plist"), .embedInCode("LegacyTypes.plist"),
                .embedInCode("KeySharing2025Types.plist"),
            ]),
        .target(name: "KeySharing", dependencies: ["UTTypes"]),

        // What every module may use.
        .target(name: "Diagnostics"),
        .target(name: "SecretMemory"),
        .target(name: "PrivateFiles", dependencies: ["CLinux", "Diagnostics", "SecretMemory"]),

        // C libraries: a module map and a shim header each, and wrappers that no C type leaves.
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLibZip", pkgConfig: "libzip", providers: [.apt(["libzip-dev"])]),
        .target(name: "CLinux"),
        .target(
            name: "OpenSSL",
            dependencies: [
                "COpenSSL", "Diagnostics", "KeySharing", "SecretMemory",
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ]),
        .target(name: "ZipBundles", dependencies: ["CLibZip", "Diagnostics"]),
        .target(name: "LocalSockets", dependencies: ["CLinux", "Diagnostics"]),

        // The persistent token: its algorithms and errors as pure values, and the algorithms through OpenSSL.
        .target(name: "PersistentToken", dependencies: ["Diagnostics", "KeySharing"]),
        .target(name: "KeyOperations", dependencies: ["OpenSSL", "PersistentToken", "SecretMemory"]),

        // What is read from certificates and files.
        .target(name: "CertificateReading", dependencies: ["KeySharing", "OpenSSL"]),
        .target(name: "PKCS12Compatibility", dependencies: ["OpenSSL"]),
        .target(name: "PathValidation", dependencies: ["KeySharing", "OpenSSL"]),

        // Mail that is signed and encrypted.
        .target(name: "SecureMail", dependencies: ["OpenSSL", "PrivateFiles"]),

        // The simulated device.
        .target(
            name: "DeviceSimulation",
            dependencies: [
                "Diagnostics", "LocalSockets", "OpenSSL", "PrivateFiles", "SecretMemory",
                .product(name: "GRDB", package: "GRDB.swift"),
                // For SQLite's limits, which GRDB has no interface to.
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),

        // The connection between the two sides.
        .target(
            name: "KeyShareWire",
            dependencies: [
                "Diagnostics", "KeySharing", "PersistentToken", "SecretMemory",
                .product(name: "NIOCore", package: "swift-nio"),
            ]),
        .target(
            name: "KeyShareClient",
            dependencies: [
                "KeyShareWire", "KeySharing", "LocalSockets", "PersistentToken", "SecretMemory",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        .target(
            name: "KeyShareServer",
            dependencies: [
                "CLinux", "Diagnostics", "KeyShareWire", "KeySharing", "LocalSockets", "PersistentToken",
                "PrivateFiles", "SecretMemory",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        .target(
            name: "LoopbackHTTP",
            dependencies: [
                "CLinux", "LocalSockets", "SecretMemory",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),

        // The two sides; they never import each other, nor each other's half of the connection.
        .target(
            name: "KeyShareProvider",
            dependencies: [
                "CertificateReading", "DeviceSimulation", "KeyOperations", "KeyShareServer", "KeyShareWire",
                "KeySharing", "OpenSSL", "PersistentToken", "SecretMemory", "ZipBundles",
            ]),
        .target(
            name: "KeyShareConsumer",
            dependencies: [
                "CertificateReading", "DeviceSimulation", "Diagnostics", "KeyOperations", "KeyShareClient",
                "KeyShareWire", "KeySharing", "LocalSockets", "OpenSSL", "PathValidation", "PersistentToken",
                "SecretMemory", "ZipBundles",
            ]),

        // What stands on them: test material, and every channel between two apps.
        .target(
            name: "TestCredentials",
            dependencies: [
                "CertificateReading", "DeviceSimulation", "Diagnostics", "KeyShareProvider", "KeySharing",
                "LoopbackHTTP", "OpenSSL", "PrivateFiles", "SecretMemory", "SecureMail", "ZipBundles",
                .product(name: "Yams", package: "Yams"),
            ],
            resources: [.embedInCode("Data")]),
        .target(
            name: "Conformance",
            dependencies: [
                "CLinux", "DeviceSimulation", "Diagnostics", "KeyShareProvider", "KeyShareServer",
                "KeyShareWire", "KeySharing", "OpenSSL", "PrivateFiles", "SecretMemory", "TestCredentials",
                .product(name: "Logging", package: "swift-log"),
            ]),
        .target(
            name: "SharingChannels",
            dependencies: [
                "DeviceSimulation", "Diagnostics", "KeyOperations", "KeyShareClient", "KeyShareConsumer",
                "KeyShareServer", "KeyShareWire", "KeySharing", "LocalSockets", "LoopbackHTTP", "OpenSSL",
                "PersistentToken", "PrivateFiles", "SecretMemory",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
            ]),

        // The token for other people's processes: no Foundation, no NIO, no OpenSSL, no thread.
        .target(name: "TokenClient", dependencies: ["CLinux", "SecretMemory"]),
        .target(name: "CPKCS11"),
        .target(
            name: "PKCS11Module", dependencies: ["CPKCS11", "SecretMemory", "TokenClient"],
            exclude: ["exported-symbols.map", "linking"],
            linkerSettings: [
                // The module brings its runtime along and shows the standard's functions alone, so that it disturbs no
                // program that loads it. It needs the C library and nothing else.
                .unsafeFlags([
                    "-static-stdlib", "-L\(Context.packageDirectory)/Sources/PKCS11Module/linking",
                    "-Xclang-linker", "-static-libgcc", "-Xlinker",
                    "--version-script=\(Context.packageDirectory)/Sources/PKCS11Module/exported-symbols.map",
                    "-Xlinker", "-z", "-Xlinker", "defs", "-Xlinker", "--gc-sections",
                    // The toolchain's own linker finds what stands in an archive before it is asked for, which the
                    // system's does not, and stores equal functions once.
                    "-use-ld=lld", "-Xlinker", "--icf=safe",
                ])
            ]),

        // The commands.
        .target(
            name: "CommandSupport",
            dependencies: [
                "CLinux", "CertificateReading", "DeviceSimulation", "Diagnostics", "KeyShareWire",
                "KeySharing",
                "LocalSockets", "OpenSSL", "PKCS12Compatibility", "PathValidation", "PersistentToken",
                "PrivateFiles", "SecretMemory", "ZipBundles",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        .target(
            name: "WebView",
            dependencies: [
                "CertificateReading", "CommandSupport", "DeviceSimulation", "KeyShareClient",
                "KeyShareConsumer", "KeyShareProvider", "KeyShareWire", "KeySharing", "LocalSockets",
                "LoopbackHTTP", "OpenSSL", "TestCredentials", "ZipBundles",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            resources: [
                .embedInCode("Resources/page.html"), .embedInCode("Resources/page.css"),
                .embedInCode("Resources/page.js"), .embedInCode("Resources/icon.svg"),
            ]),
        .target(
            name: "KeyShareProviderCommand",
            dependencies: [
                "CertificateReading", "CommandSupport", "Conformance", "DeviceSimulation", "Diagnostics",
                "KeyShareProvider", "KeyShareServer", "KeySharing",
                "LoopbackHTTP", "OpenSSL", "PersistentToken", "PrivateFiles", "SecretMemory", "SecureMail",
                "TestCredentials",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),
        .target(
            name: "KeyShareConsumerCommand",
            dependencies: [
                "CertificateReading", "CommandSupport", "DeviceSimulation", "Diagnostics", "KeyShareClient",
                "KeyOperations", "KeyShareConsumer", "KeySharing", "LocalSockets", "LoopbackHTTP", "OpenSSL",
                "PKCS12Compatibility", "PathValidation", "PersistentToken", "PrivateFiles", "SecretMemory",
                "SecureMail", "ZipBundles",
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),
        .target(
            name: "KeyShareDeviceCommand",
            dependencies: [
                "CommandSupport", "DeviceSimulation", "Diagnostics", "KeyShareClient", "KeyShareWire",
                "LocalSockets", "LoopbackHTTP", "PrivateFiles", "SecretMemory", "SharingChannels", "WebView",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),
        .executableTarget(
            name: "keyshare-provider", dependencies: ["CommandSupport", "KeyShareProviderCommand"]),
        .executableTarget(
            name: "keyshare-consumer", dependencies: ["CommandSupport", "KeyShareConsumerCommand"]),
        .executableTarget(
            name: "keyshare-device", dependencies: ["CommandSupport", "KeyShareDeviceCommand"]),
        // All three as one file, which scripts/package installs under their names.
        .executableTarget(
            name: "keyshare",
            dependencies: [
                "CommandSupport", "KeyShareConsumerCommand", "KeyShareDeviceCommand",
                "KeyShareProviderCommand",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),

        // Tests.
        .target(
            name: "Fixtures", dependencies: ["TestCredentials"], path: "Fixtures", exclude: ["README.md"],
            resources: [.copy("Files")]),
        .target(
            name: "TestSupport",
            dependencies: [
                "COpenSSL", "DeviceSimulation", "KeyShareClient", "KeyShareServer", "KeyShareWire",
                "KeySharing", "OpenSSL", "PathValidation", "PersistentToken", "SecretMemory",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ], path: "Tests/TestSupport"),
        .testTarget(name: "DiagnosticsTests", dependencies: ["Diagnostics"]),
        .testTarget(name: "SecretMemoryTests", dependencies: ["SecretMemory"]),
        .testTarget(
            name: "OpenSSLTests",
            dependencies: [
                "COpenSSL", "Diagnostics", "KeySharing", "OpenSSL", "PrivateFiles", "SecretMemory",
                "TestSupport",
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ]),
        .testTarget(name: "PersistentTokenTests", dependencies: ["KeySharing", "PersistentToken"]),
        .testTarget(
            name: "KeyOperationsTests",
            dependencies: ["KeyOperations", "OpenSSL", "PersistentToken", "SecretMemory", "TestSupport"],
            exclude: ["Vectors/make-vectors"], resources: [.copy("Vectors/vectors.json")]),
        .testTarget(
            name: "PKCS12CompatibilityTests",
            dependencies: [
                "OpenSSL", "PKCS12Compatibility", "SecretMemory", "TestSupport",
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ]),
        .testTarget(
            name: "PathValidationTests",
            dependencies: [
                "KeySharing", "OpenSSL", "PathValidation", "TestSupport",
            ]),
        .testTarget(
            name: "SecureMailTests",
            dependencies: ["OpenSSL", "PrivateFiles", "SecureMail", "TestSupport"]),
        .testTarget(
            name: "ZipBundlesTests",
            dependencies: [
                "CLibZip", "TestCredentials", "ZipBundles",
            ]),
        .testTarget(
            name: "KeySharingTests",
            dependencies: ["KeySharing", "UTTypes"]),
        .testTarget(
            name: "CertificateReadingTests",
            dependencies: [
                "CertificateReading", "KeySharing", "OpenSSL",
            ]),
        .testTarget(
            name: "CommandSupportTests",
            dependencies: [
                "CommandSupport", "DeviceSimulation", "Diagnostics", "KeyShareClient", "KeyShareProvider",
                "KeyShareServer", "KeyShareWire", "LoopbackHTTP", "OpenSSL", "PathValidation",
                "SecretMemory", "SecureMail", "TestCredentials", "TestSupport", "WebView", "ZipBundles",
            ]),
        .testTarget(
            name: "PrivateFilesTests",
            dependencies: [
                "PrivateFiles", "SecretMemory", "TestSupport",
            ]),
        .testTarget(
            name: "DeviceSimulationTests",
            dependencies: [

                "DeviceSimulation", "PrivateFiles", "SecretMemory", "SharingChannels",
                "TestSupport", .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        .testTarget(
            name: "KeyShareWireTests",
            dependencies: [
                "KeyShareWire", "KeySharing", "OpenSSL", "PersistentToken", "SecretMemory", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            exclude: ["Vectors"]),
        .testTarget(
            name: "KeyShareServerTests",
            dependencies: [
                "CLinux", "KeyShareClient", "KeyShareServer", "KeyShareWire", "KeySharing", "LocalSockets",
                "OpenSSL", "PersistentToken", "SecretMemory", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]),
        .testTarget(
            name: "KeyShareClientTests",
            dependencies: [
                "KeyShareClient", "KeyShareWire", "KeySharing", "LocalSockets", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        .testTarget(
            name: "TokenClientTests",
            dependencies: [
                "DeviceSimulation", "KeyShareWire", "OpenSSL", "PersistentToken", "SecretMemory",
                "TestSupport", "TokenClient",
            ]),
        .testTarget(
            name: "LoopbackHTTPTests",
            dependencies: [
                "LocalSockets", "LoopbackHTTP", "SecretMemory", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        // libcrypto called from C, which the results of tokens are checked with.
        .target(name: "CTokenReference", dependencies: ["COpenSSL"], path: "Tests/CTokenReference"),
        .testTarget(
            name: "KeyShareProviderTests",
            dependencies: [
                "CTokenReference", "CertificateReading", "DeviceSimulation", "KeyOperations",
                "KeyShareClient",
                "KeyShareConsumer",
                "KeyShareProvider", "KeyShareServer", "KeyShareWire", "KeySharing", "OpenSSL",
                "PersistentToken", "SecretMemory", "TestCredentials", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "KeyShareConsumerTests",
            dependencies: [
                "Diagnostics",
                "DeviceSimulation", "KeyShareClient", "KeyShareConsumer",
                "KeyShareServer", "KeyShareWire", "KeySharing", "OpenSSL", "PathValidation",
                "SecretMemory", "TestSupport", "ZipBundles",
            ]),
        .testTarget(
            name: "TestCredentialsTests",
            dependencies: [
                "Diagnostics",
                "CertificateReading", "DeviceSimulation", "Fixtures", "KeyShareProvider", "KeySharing",
                "LoopbackHTTP", "OpenSSL", "SecretMemory", "TestCredentials", "TestSupport",
            ]),
        .testTarget(
            name: "ConformanceTests",
            dependencies: [
                "Conformance", "TestCredentials", "TestSupport",
            ]),
        .testTarget(
            name: "SharingChannelsTests",
            dependencies: [
                "Diagnostics",
                "CommandSupport", "DeviceSimulation", "KeyShareClient", "KeyShareWire", "KeySharing",
                "OpenSSL", "PrivateFiles", "SecretMemory", "SharingChannels", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        .testTarget(
            name: "WebViewTests",
            dependencies: ["CommandSupport", "KeyShareWire", "LoopbackHTTP", "TestSupport", "WebView"]),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "CommandSupport", "Conformance", "DeviceSimulation", "Fixtures", "KeyOperations",
                "KeyShareClient", "KeyShareConsumer", "KeySharing", "LocalSockets", "OpenSSL",
                "PersistentToken", "PrivateFiles", "SecretMemory", "SecureMail", "TestCredentials",
                "TestSupport", "ZipBundles",
                "keyshare-provider", "keyshare-consumer", "keyshare-device", "keyshare",
            ],
            exclude: ["Golden"]),
    ]
)

// Benchmarks and fuzz targets, which no build makes unless KEYSHARING_TOOLS is set: scripts/bench and scripts/fuzz
// set it and build them into folders of their own. They belong to this package because they measure and test
// what has package access. `fuzz` links with libFuzzer only, so name the product that you want.
// KEYSHARING_TOOLS=fuzz links the PKCS #11 module into the fuzzer instead of a library.
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
                "KeyShareWire",
                "KeySharing", "OpenSSL", "SecretMemory",
            ],
            path: "Benchmarks/keychain-benchmark"),
        .executableTarget(
            name: "nio-echo",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Benchmarks/nio-echo"),
        .target(name: "CFuzzer", path: "Fuzz/CFuzzer"),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "CFuzzer", "CPKCS11", "KeyShareWire", "KeySharing", "OpenSSL", "PKCS11Module",
                "PKCS12Compatibility", "SecretMemory", "TokenClient", "UTTypes", "ZipBundles",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ],
            path: "Fuzz/fuzz"),
    ]
    for target in package.targets
    where target.name == "PKCS11Module" && Context.environment["KEYSHARING_TOOLS"] == "fuzz" {
        target.linkerSettings = []
    }
}

// The strictest flags, on every Swift target alike; warnings are errors in CI only, so that a newer
// compiler's new warning stops no user's build.
for target in package.targets
where target.type != .system && !["CLinux", "CPKCS11", "CFuzzer", "CTokenReference"].contains(target.name) {
    var settings = target.swiftSettings ?? []
    settings += [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .strictMemorySafety(),
    ]
    if Context.environment["CI"] != nil {
        settings.append(.treatAllWarnings(as: .error))
    }
    target.swiftSettings = settings
}
