import CommandSupport
import Foundation
import TestSupport
import Testing

@Suite(
    "A provider that a service manager operates",
    .enabled(if: SecondClient.isAvailable, "there is no python3"), .timeLimit(.minutes(10)))
struct ServiceOperationTests {
    private let simulation: Simulation

    init() async throws {
        simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--generations", "1")
    }

    /// Acts as a service manager: starts the provider with a notify socket, reads what it reports, reloads it while a
    /// client is connected, and stops it.
    private static let manager = """
        import os, signal, socket, subprocess, sys
        sys.path.insert(0, sys.argv[4])
        from toolbox import client
        name, command, device = sys.argv[1:4]
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify.bind("\\0" + name[1:] if name.startswith("@") else name)
        notify.settimeout(60)
        environment = dict(os.environ, KEYSHARE_DEVICE=device, NOTIFY_SOCKET=name, WATCHDOG_USEC="100000")
        # Without a terminal, so that SIGHUP means a reload.
        provider = subprocess.Popen([command, "serve", "--quiet"], env=environment, start_new_session=True)
        def reported(*wanted):
            while True:
                line = notify.recv(4096).decode().splitlines()[0]
                if line in wanted:
                    print(line)
                    return
        reported("READY=1")
        connected = client.Client(os.path.join(device, "provider.sock"))
        for _ in range(3):
            reported("WATCHDOG=1")
        provider.send_signal(signal.SIGHUP)
        reported("RELOADING=1")
        reported("READY=1")
        print(len(list(connected.items())))
        provider.send_signal(signal.SIGTERM)
        reported("STOPPING=1")
        print(provider.wait(), os.path.exists(os.path.join(device, "provider.sock")))
        """

    @Test(
        "The provider reports that it is ready, alive, reloading and stopping, and a reload keeps connections",
        arguments: [false, true])
    func notifications(isAbstract: Bool) async throws {
        let name = isAbstract ? "@keyshare-\(UUID().uuidString)" : simulation.scratch.path("notify")
        let output = try await SecondClient.python(
            [
                "-c", Self.manager, name, BuiltCommand.provider.path, simulation.device,
                PackageFolder.path + "/scripts",
            ]
        ).output
        #expect(
            output == """
                READY=1
                WATCHDOG=1
                WATCHDOG=1
                WATCHDOG=1
                RELOADING=1
                READY=1
                17
                STOPPING=1
                0 False

                """)
    }

    /// Provisions a scenario while a client is connected, reloads the provider, and lists the root before and after.
    private static let reloader = """
        import os, signal, subprocess, sys
        sys.path.insert(0, sys.argv[4])
        from toolbox import client
        command, device, scenario = sys.argv[1:4]
        environment = dict(os.environ, KEYSHARE_DEVICE=device)
        provider = subprocess.Popen(
            [command, "serve"], env=environment, start_new_session=True, stderr=subprocess.PIPE, text=True)
        def line(end):
            for text in provider.stderr:
                if text.startswith(end):
                    return
                print(text, end="")
        line("listening on")
        connected = client.Client(os.path.join(device, "provider.sock"))
        subprocess.run(
            [command, "provision", "--scenario", scenario], env=environment, check=True, capture_output=True)
        print(len(list(connected.items())))
        provider.send_signal(signal.SIGHUP)
        line("reloaded")
        print(len(list(connected.items())))
        provider.send_signal(signal.SIGHUP)
        line("reloaded")
        provider.send_signal(signal.SIGTERM)
        print(provider.wait())
        """

    @Test("A reload applies the settings of a scenario that was provisioned since, but not its fault")
    func scenario() async throws {
        let file = try simulation.write(
            """
            description: An older signature certificate that the root does not show.
            persons:
              - name: Dana Example
                credentials:
                  - types: signature
                    starts: [2 years ago]
                    key: p256
            service: {fault: neither, root: recent}
            """, as: "dana.yaml")
        let output = try await SecondClient.python(
            [
                "-c", Self.reloader, BuiltCommand.provider.path, simulation.device, file,
                PackageFolder.path + "/scripts",
            ]
        ).output
        // Three identities in the root, the older one, and a folder and a zip for each of seven selectors.
        #expect(
            output == """
                18
                following the scenario dana, except for options: fault neither, root recent
                the scenario's fault takes effect when the provider is restarted
                17
                0

                """)
    }

    @Test(
        "With --log-format json, every line on standard error is an object, and request lines contain outcome and time"
    )
    func log() async throws {
        try await simulation.serve("--log-format", "json")
        let listing = try await simulation.consumer(
            "import", "PIV.zip", "--uti", "purebred2025.zip.authentication")
        #expect(listing.status == 0)
        let lines = try await simulation.stopServing().errors.split(separator: "\n")
        let objects = try lines.map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        let times = objects.compactMap { $0["time"] as? String }
        #expect(times.allSatisfy { $0.wholeMatch(of: /[0-9-]+T[0-9:]+\.[0-9]{3}Z/) != nil }, "\(times)")
        #expect(objects.allSatisfy { $0["time"] is String && $0["level"] is String && $0["event"] is String })
        let requests = objects.filter { $0["event"] as? String == "request" }
        let password = try #require(requests.first { $0["type"] as? String == "fetchPassword" })
        #expect(password["outcome"] as? String == "ok" && password["subject"] as? String == "PIV.zip")
        #expect(
            password["durationMicroseconds"] is Int && password["pid"] is Int && password["request"] is Int)
        #expect(objects.last?["event"] as? String == "stopped")
    }

    @Test("With --log-format json, connection, process and request are numbers in every line")
    func logNumbers() async throws {
        try await simulation.serve("--log-format", "json", "--log-level", "debug")
        try await simulation.consumer("browse")
        let lines = try await simulation.stopServing().errors.split(separator: "\n")
        let objects = try lines.map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        for key in ["connection", "pid", "request"] {
            let values = objects.compactMap { $0[key] }
            #expect(!values.isEmpty && values.allSatisfy { $0 is Int }, "\(key): \(values)")
        }
        #expect(objects.contains { $0["event"] as? String == "connection opened" && $0["pid"] is Int })
    }

    @Test("With --log-format json, the note about a new device is an object, too")
    func newDevice() async throws {
        let simulation = try Simulation()
        try await simulation.serve("--log-format", "json")
        let first = try #require(try await simulation.stopServing().errors.split(separator: "\n").first)
        struct Line: Decodable { let event: String }
        let line = try JSONDecoder().decode(Line.self, from: Data(first.utf8))
        #expect(line.event.hasPrefix("created a device in "))
    }

    @Test("The log level determines whether requests are logged")
    func level() async throws {
        for (level, hasRequests) in [("warning", false), ("info", true)] {
            try await simulation.serve("--log-level", level)
            try await simulation.consumer("browse")
            let errors = try await simulation.stopServing().errors
            #expect(errors.contains("type=enumerate") == hasRequests, "\(errors)")
        }
    }

    @Test("The metrics count requests by type and outcome, and promtool accepts them if it is installed")
    func metrics() async throws {
        let provider = try simulation.start(.provider, "serve", "--metrics", "127.0.0.1:0", "--json")
        let errors = try await provider.errors(upTo: "listening on")
        let address = try #require(errors.firstMatch(of: /metrics are served at (\S+)/)).1
        try await simulation.consumer("browse")
        let scrape = """
            import shutil, subprocess, sys, urllib.request
            text = urllib.request.urlopen(sys.argv[1]).read().decode()
            if shutil.which("promtool"):
                subprocess.run(["promtool", "check", "metrics"], input=text, text=True, check=True)
            print(text)
            """
        let text = try await SecondClient.python(["-c", scrape, String(address)]).output
        #expect(text.contains("# TYPE keyshare_requests_total counter\n"))
        #expect(text.contains("keyshare_requests_total{type=\"enumerate\",outcome=\"ok\"} "))
        #expect(text.contains("keyshare_request_duration_seconds_bucket{type=\"enumerate\",le=\"+Inf\"} "))
        #expect(text.contains("\nkeyshare_connections 0\n"))
        let printed = try await simulation.device("metrics")
        #expect(printed.status == 0 && printed.text.contains("\nkeyshare_connections 1\n"))
        let document = try await simulation.device("metrics", "--json").document(MetricsFigures.self)
        #expect(document.figures["connections"] == 1)
        provider.signal(SIGTERM)
        _ = try await provider.finish()
        #expect(try await simulation.device("metrics").status == 8)
    }

    @Test("The metrics are only at one path, and requests that could change something are rejected")
    func metricsRequests() async throws {
        let provider = try simulation.start(.provider, "serve", "--metrics", "127.0.0.1:0")
        let errors = try await provider.errors(upTo: "listening on")
        let address = try #require(errors.firstMatch(of: /served at http:\/\/127\.0\.0\.1:(\d+)\/metrics/))
        let port = try #require(Int(address.1))
        #expect(try await RawPeer.http("GET", "/metrics", port: port)?.status == 200)
        let other = try #require(try await RawPeer.http("GET", "/", port: port))
        #expect(other.status == 404)
        #expect(String(decoding: other.body, as: UTF8.self).contains("the metrics are at /metrics"))
        let post = try #require(try await RawPeer.http("POST", "/metrics", body: [1], port: port))
        #expect(post.status == 405 && String(decoding: post.body, as: UTF8.self).contains("use GET"))
        provider.signal(SIGTERM)
        #expect(try await provider.finish().status == 0)
    }
}

private struct MetricsFigures: Decodable {
    let figures: [String: UInt64]
}
