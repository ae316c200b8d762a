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
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/ordo-one/TextTable", from: "0.0.2"),
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
        .target(name: "PrivateFiles", dependencies: ["Diagnostics", "SecretMemory"]),

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

        // What is read from certificates and files.
        .target(name: "CertificateReading", dependencies: ["KeySharing", "OpenSSL"]),
        .target(name: "PKCS12Compatibility", dependencies: ["OpenSSL"]),
        .target(name: "PathValidation", dependencies: ["KeySharing", "OpenSSL"]),

        // The simulated device.
        .target(
            name: "DeviceSimulation",
            dependencies: [
                "Diagnostics", "LocalSockets", "OpenSSL", "PrivateFiles", "SecretMemory",
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),

        // The connection between the two sides.
        .target(
            name: "KeyShareWire",
            dependencies: [
                "Diagnostics", "KeySharing", "SecretMemory",
                .product(name: "NIOCore", package: "swift-nio"),
            ]),
        .target(
            name: "KeyShareClient",
            dependencies: [
                "KeyShareWire", "KeySharing", "LocalSockets", "SecretMemory",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        .target(
            name: "KeyShareServer",
            dependencies: [
                "Diagnostics", "KeyShareWire", "KeySharing", "LocalSockets", "PrivateFiles", "SecretMemory",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        .target(
            name: "LoopbackHTTP",
            dependencies: [
                "LocalSockets", "SecretMemory",
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
                "CertificateReading", "DeviceSimulation", "KeyShareServer", "KeyShareWire",
                "KeySharing", "OpenSSL", "SecretMemory", "ZipBundles",
            ]),
        .target(
            name: "KeyShareConsumer",
            dependencies: [
                "CertificateReading", "DeviceSimulation", "Diagnostics", "KeyShareClient", "KeyShareWire",
                "KeySharing", "LocalSockets", "OpenSSL", "SecretMemory", "ZipBundles",
            ]),

        // What stands on them: test material, and every channel between two apps.
        .target(
            name: "TestCredentials",
            dependencies: [
                "CertificateReading", "DeviceSimulation", "Diagnostics", "KeyShareProvider", "KeySharing",
                "LoopbackHTTP", "OpenSSL", "PrivateFiles", "SecretMemory", "ZipBundles",
                .product(name: "Yams", package: "Yams"),
            ],
            resources: [.embedInCode("Data")]),
        .target(
            name: "SharingChannels",
            dependencies: [
                "DeviceSimulation", "Diagnostics", "KeyShareClient", "KeyShareConsumer", "KeyShareServer",
                "KeyShareWire", "KeySharing", "LocalSockets", "LoopbackHTTP", "OpenSSL",
                "PrivateFiles", "SecretMemory",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
            ]),

        // The commands.
        .target(
            name: "CommandSupport",
            dependencies: [
                "CertificateReading", "DeviceSimulation", "Diagnostics", "KeyShareWire", "KeySharing",
                "LocalSockets",
                "OpenSSL", "PKCS12Compatibility", "PrivateFiles", "SecretMemory", "ZipBundles",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "TextTable", package: "TextTable"),
            ]),
        .executableTarget(
            name: "keyshare-provider",
            dependencies: [
                "CLinux", "CertificateReading", "CommandSupport", "DeviceSimulation", "Diagnostics",
                "KeyShareProvider", "KeyShareServer", "KeySharing",
                "LoopbackHTTP", "OpenSSL", "PrivateFiles", "TestCredentials",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),
        .executableTarget(
            name: "keyshare-consumer",
            dependencies: [
                "CommandSupport", "DeviceSimulation", "Diagnostics", "KeyShareClient",
                "KeyShareConsumer", "KeySharing", "LocalSockets", "OpenSSL",
                "PKCS12Compatibility", "SecretMemory", "ZipBundles",
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),
        .executableTarget(
            name: "keyshare-device",
            dependencies: [
                "CommandSupport", "DeviceSimulation", "Diagnostics", "PrivateFiles",
                "SharingChannels",
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),

        // Tests.
        .target(
            name: "Fixtures", dependencies: ["TestCredentials"], path: "Fixtures", exclude: ["README.md"],
            resources: [.copy("Files")]),
        .target(
            name: "TestSupport",
            dependencies: [
                "COpenSSL", "DeviceSimulation", "KeyShareClient", "KeyShareServer", "KeyShareWire",
                "KeySharing", "OpenSSL", "SecretMemory",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ], path: "Tests/TestSupport"),
        .testTarget(name: "DiagnosticsTests", dependencies: ["Diagnostics"]),
        .testTarget(name: "SecretMemoryTests", dependencies: ["SecretMemory"]),
        .testTarget(
            name: "OpenSSLTests",
            dependencies: [
                "COpenSSL", "Diagnostics", "KeySharing", "OpenSSL", "SecretMemory", "TestSupport",
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ]),
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
                "CommandSupport", "Diagnostics", "OpenSSL", "SecretMemory", "TestSupport",
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
                "KeyShareWire", "KeySharing", "OpenSSL", "SecretMemory", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            exclude: ["Vectors"]),
        .testTarget(
            name: "KeyShareServerTests",
            dependencies: [
                "KeyShareClient", "KeyShareServer", "KeyShareWire", "KeySharing", "LocalSockets",
                "OpenSSL", "SecretMemory", "TestSupport", .product(name: "Logging", package: "swift-log"),
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
            name: "LoopbackHTTPTests",
            dependencies: [
                "LocalSockets", "LoopbackHTTP", "SecretMemory", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        .testTarget(
            name: "KeyShareProviderTests",
            dependencies: [

                "CertificateReading", "DeviceSimulation", "KeyShareClient", "KeyShareConsumer",
                "KeyShareProvider", "KeyShareServer", "KeyShareWire", "KeySharing", "OpenSSL",
                "SecretMemory", "TestCredentials", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "KeyShareConsumerTests",
            dependencies: [
                "Diagnostics",
                "DeviceSimulation", "KeyShareClient", "KeyShareConsumer",
                "KeyShareServer", "KeyShareWire", "KeySharing", "OpenSSL", "SecretMemory",
                "TestSupport", "ZipBundles",
            ]),
        .testTarget(
            name: "TestCredentialsTests",
            dependencies: [
                "Diagnostics",
                "CertificateReading", "DeviceSimulation", "Fixtures", "KeyShareProvider", "KeySharing",
                "LoopbackHTTP", "OpenSSL", "SecretMemory", "TestCredentials", "TestSupport",
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
            name: "EndToEndTests",
            dependencies: [
                "CommandSupport", "DeviceSimulation", "Fixtures", "TestCredentials", "TestSupport",
                "keyshare-provider", "keyshare-consumer", "keyshare-device",
            ],
            exclude: ["Golden"]),
    ]
)

// Benchmarks and fuzz targets, which no build makes unless KEYSHARING_TOOLS is set: scripts/bench and scripts/fuzz
// set it and build them into folders of their own. They belong to this package because they measure and test
// what has package access. `fuzz` links with libFuzzer only, so name the product that you want.
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
                "CFuzzer", "KeyShareWire", "KeySharing", "OpenSSL", "PKCS12Compatibility", "SecretMemory",
                "UTTypes", "ZipBundles",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ],
            path: "Fuzz/fuzz"),
    ]
}

// The strictest flags, on every Swift target alike; warnings are errors in CI only, so that a newer
// compiler's new warning stops no user's build.
for target in package.targets where target.type != .system && !["CLinux", "CFuzzer"].contains(target.name) {
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
