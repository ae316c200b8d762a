internal import Foundation
internal import PrivateFiles
package import TestCredentials

/// Holds a consumer against test vectors: runs it once for each, and judges what it does.
package struct ConformanceRun: Sendable {
    /// The command of the consumer.
    package let consumer: ConsumerTemplate
    /// How its answers are read.
    package let reading: AnswerReading
    /// What each process may use.
    package let limits: ProcessLimits
    /// The environment that it gets.
    package let environment: [String: String]
    /// Runs its processes; stopping it ends the run.
    package let container: ProcessContainer

    /// A run that is to come.
    package init(
        consumer: ConsumerTemplate, reading: AnswerReading, limits: ProcessLimits,
        environment: [String: String],
        container: ProcessContainer
    ) {
        self.consumer = consumer
        self.reading = reading
        self.limits = limits
        self.environment = environment
        self.container = container
    }

    /// Makes the files of test vectors and runs the consumer on each, several at a time.
    ///
    /// - Parameters:
    ///   - selection: which test vectors.
    ///   - settings: how the files are made.
    ///   - folder: an empty folder that only this user may enter. The files stay in it, in `vectors`.
    ///   - width: how many are made and run at a time.
    ///   - progress: called before each test vector, with how many are done and how many there are.
    /// - Returns: the report; what was not run because the container was stopped says so.
    /// - Throws: the errors of making credentials, and of the file system.
    package func report(
        on selection: VectorSelection, settings: TestVectorSuite.Settings, in folder: String, width: Int,
        progress: @escaping @Sendable (_ done: Int, _ count: Int) -> Void
    ) async throws -> ConformanceReport {
        let suite = try await TestVectorSuite(selection.files, settings, width: width)
        let files = folder + "/vectors"
        try PrivateFolder.make(files)
        for file in suite.files { try AtomicFile.write(file.bytes, to: "\(files)/\(file.name)") }
        let subjects =
            suite.manifest.vectors.map { Subject(entry: $0, service: nil) }
            + selection.services.map { Subject(entry: $0.entry, service: $0) }
        let places: [ConsumerTemplate.Placeholder: String] = [
            .trust: "\(files)/\(suite.manifest.trust)", .crl: "\(files)/\(suite.manifest.revocations)",
        ]
        let work = folder + "/runs"
        try PrivateFolder.make(work)
        let results = try await withThrowingTaskGroup(of: (Int, ConformanceReport.Result).self) { group in
            var results = [ConformanceReport.Result?](repeating: nil, count: subjects.count)
            var pending = subjects.enumerated().makeIterator()
            func startNext() {
                guard let (index, subject) = pending.next() else { return }
                group.addTask {
                    (index, try await run(subject, files: files, places, in: "\(work)/\(index)", settings))
                }
            }
            for _ in 0..<max(width, 1) { startNext() }
            var done = 0
            while let (index, result) = try await group.next() {
                results[index] = result
                done += 1
                progress(done, subjects.count)
                startNext()
            }
            return results.compactMap(\.self)
        }
        return ConformanceReport(consumer: consumer.words, claims: reading.claim, results: results)
    }

    /// A test vector to run the consumer on.
    private struct Subject: Sendable {
        let entry: TestVectorSuite.Entry
        /// The provider to start; nil for a file.
        let service: ServiceVector?
    }

    private func run(
        _ subject: Subject, files: String, _ places: [ConsumerTemplate.Placeholder: String],
        in folder: String,
        _ settings: TestVectorSuite.Settings
    ) async throws -> ConformanceReport.Result {
        guard !container.wasStopped else {
            return result(subject, ProcessResult(end: .stopped, seconds: 0, output: [], errors: []))
        }
        try PrivateFolder.make(folder)
        try PrivateFolder.make(folder + "/out")
        let passwordFile = folder + "/password"
        let password = subject.entry.password ?? ""
        // Programs read the first line, and some take a file without any for an error.
        try AtomicFile.write(Array((password + "\n").utf8), to: passwordFile)
        var values = places.merging([
            .passwordFile: passwordFile, .password: password, .out: folder + "/out",
        ]) { $1 }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        if let service = subject.service {
            let result = try await ServiceHost.serve(service, in: folder, settings: settings) { place in
                values[.file] = place.item
                return await run(
                    values, environment.merging(["KEYSHARE_SOCKET": place.socket]) { $1 }, folder)
            }
            return self.result(subject, result)
        }
        values[.file] = subject.entry.file.map { "\(files)/\($0)" }
        return result(subject, await run(values, environment, folder))
    }

    private func run(
        _ values: [ConsumerTemplate.Placeholder: String], _ environment: [String: String], _ folder: String
    ) async -> ProcessResult {
        await container.run(
            consumer.program, consumer.arguments(values), environment: environment, folder: folder,
            limits: limits)
    }

    private func result(_ subject: Subject, _ run: ProcessResult) -> ConformanceReport.Result {
        let entry = subject.entry
        let (verdict, seen) = reading.judge(run, entry, limits: limits)
        return ConformanceReport.Result(
            name: entry.name, groups: entry.groups, description: entry.summary,
            expected: entry.expected[reading.claim], why: entry.reason, verdict: verdict, seen: seen,
            exitCode: run.end.exitCode,
            signal: run.end.signal,
            seconds: (run.seconds * 1_000).rounded() / 1_000,
            stderr: String(decoding: run.errors.suffix(Self.largestExcerpt), as: UTF8.self), file: entry.file,
            behaviour: entry.expectedBehaviour)
    }

    /// How much of standard error a report quotes, in bytes.
    private static let largestExcerpt = 2_000
}
