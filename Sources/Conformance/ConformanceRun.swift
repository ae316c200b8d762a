internal import Foundation
internal import PrivateFiles
package import TestVectors

/// Tests a consumer: runs it once for each test vector and judges its behaviour.
package struct ConformanceRun: Sendable {
    /// The command of the consumer.
    package let consumer: ConsumerTemplate
    /// The rules that determine the consumer's answer from its exit code and output.
    package let reading: AnswerReading
    /// The resource limits of each process.
    package let limits: ProcessLimits
    /// The environment of the consumer. Each run adds `KEYSHARE_DEVICE` with a new device.
    package let environment: [String: String]
    /// The working folder of the consumer.
    package let workingFolder: String
    /// Runs the processes. Stopping the container ends the run.
    package let container: ProcessContainer

    /// Creates a run without starting it.
    package init(
        consumer: ConsumerTemplate, reading: AnswerReading, limits: ProcessLimits,
        environment: [String: String], workingFolder: String, container: ProcessContainer
    ) {
        self.consumer = consumer
        self.reading = reading
        self.limits = limits
        self.environment = environment
        self.workingFolder = workingFolder
        self.container = container
    }

    /// Generates the files of the test vectors and runs the consumer on each, several in parallel.
    ///
    /// - Parameters:
    ///   - selection: The test vectors.
    ///   - settings: The settings for generating the files.
    ///   - folder: An empty folder that only this user may enter. The files remain in its subfolder `vectors`.
    ///   - width: The number of test vectors to process in parallel.
    ///   - progress: Called after each test vector with the number of finished test vectors and their total.
    /// - Returns: The report, or the reason why the consumer cannot be run at all. A test vector that was not run
    ///   because the container was stopped has the verdict `not-run`.
    /// - Throws: The errors of generating credentials and of the file system.
    package func report(
        on selection: VectorSelection, settings: TestVectorSuite.Settings, in folder: String, width: Int,
        progress: @escaping @Sendable (_ done: Int, _ count: Int) -> Void
    ) async throws -> ConformanceOutcome {
        let files = folder + "/vectors"
        try PrivateFolder.make(files)
        let subjects =
            try await subjects(of: selection, settings, in: files, width: width)
            + messages(selection.messages, settings, in: files, scratch: folder, width: width)
        let work = folder + "/runs"
        try PrivateFolder.make(work)
        let place = Place(work: work, settings: settings)
        var results = [ConformanceReport.Result?](repeating: nil, count: subjects.count)
        if let unusable = try await tryOut(subjects, place, &results) { return .unusable(unusable) }
        let tried = results.count { $0 != nil }
        try await withThrowingTaskGroup(of: (Int, ConformanceReport.Result).self) { group in
            var pending = subjects.enumerated().filter { results[$0.offset] == nil }.makeIterator()
            func startNext() {
                guard let (index, subject) = pending.next() else { return }
                group.addTask { (index, result(subject, try await run(subject, place, number: index))) }
            }
            for _ in 0..<max(width, 1) { startNext() }
            var done = tried
            while let (index, result) = try await group.next() {
                results[index] = result
                done += 1
                progress(done, subjects.count)
                startNext()
            }
        }
        let contents = subjects.compactMap { subject in subject.contents.map { (subject.entry.name, $0) } }
        return .report(
            ConformanceReport(
                consumer: consumer.words, claims: reading.claim, results: results.compactMap(\.self)),
            files: Dictionary(contents) { first, _ in first })
    }

    /// Generates the PKCS #12 files and archives, and returns them with the providers to start.
    private func subjects(
        of selection: VectorSelection, _ settings: TestVectorSuite.Settings, in folder: String, width: Int
    ) async throws -> [Subject] {
        let (vectors, services) = (selection.files, selection.services)
        guard !vectors.isEmpty || !services.isEmpty else { return [] }
        let suite = try await TestVectorSuite(vectors, settings, width: width)
        for file in suite.files { try AtomicFile.write(file.bytes, to: "\(folder)/\(file.name)") }
        let contents = Dictionary(suite.files.map { ($0.name, $0.bytes) }) { first, _ in first }
        let values: [ConsumerTemplate.Placeholder: String] = [
            .trust: "\(folder)/\(suite.manifest.trust)", .crl: "\(folder)/\(suite.manifest.revocations)",
            .date: suite.manifest.date,
        ]
        return suite.manifest.vectors.map { entry in
            var values = values
            values[.file] = entry.file.map { "\(folder)/\($0)" }
            return Subject(
                entry: entry, contents: entry.file.flatMap { contents[$0] }, service: nil, values: values)
        } + services.map { Subject(entry: $0.entry, contents: nil, service: $0, values: values) }
    }

    /// Writes the messages to a subfolder.
    private func messages(
        _ vectors: [MessageVector], _ settings: TestVectorSuite.Settings, in folder: String, scratch: String,
        width: Int
    ) async throws -> [Subject] {
        guard !vectors.isEmpty else { return [] }
        let suite = try await MessageVectorSuite(vectors, settings, scratch: scratch, width: width)
        let folder = folder + "/messages"
        try PrivateFolder.make(folder)
        for file in suite.files { try AtomicFile.write(file.bytes, to: "\(folder)/\(file.name)") }
        let contents = Dictionary(suite.files.map { ($0.name, $0.bytes) }) { first, _ in first }
        let expected = suite.expectations
        return vectors.map { vector in
            Subject(
                entry: vector.entry(password: expected.recipient.password), contents: contents[vector.file],
                service: nil,
                values: [
                    .file: "\(folder)/\(vector.file)", .trust: "\(folder)/\(expected.trust)",
                    .crl: "\(folder)/\(expected.revocations)", .date: expected.date,
                    .recipient: "\(folder)/\(expected.recipient.file)",
                ])
        }
    }

    /// Runs the consumer on up to three valid test vectors, until one run shows that the command works.
    ///
    /// - Returns: The reason why it cannot be run, or nil if it can.
    private func tryOut(
        _ subjects: [Subject], _ place: Place, _ results: inout [ConformanceReport.Result?]
    ) async throws -> UnusableConsumer? {
        var check = UsabilityCheck(reading: reading)
        let sound = subjects.enumerated().filter {
            $0.element.entry.expected[reading.claim].answer == .accept
        }
        for (index, subject) in sound.prefix(UsabilityCheck.runs) {
            let run = try await run(subject, place, number: index)
            results[index] = result(subject, run)
            switch check.add(
                run, varying: [place.work + "/\(index)", subject.entry.file ?? subject.entry.name])
            {
            case .usable: return nil
            case .unusable(let consumer): return consumer
            case .open: continue
            }
        }
        return nil
    }

    /// The folder of a run, and the settings for generating its files.
    private struct Place: Sendable {
        let work: String
        let settings: TestVectorSuite.Settings
    }

    /// A test vector to run the consumer on.
    private struct Subject: Sendable {
        let entry: TestVectorSuite.Entry
        /// The bytes of the file. The consumer can replace the file itself.
        let contents: [UInt8]?
        /// The provider to start. Nil for a file.
        let service: ServiceVector?
        /// The values of placeholders that do not depend on the run.
        let values: [ConsumerTemplate.Placeholder: String]
    }

    private func run(_ subject: Subject, _ place: Place, number: Int) async throws -> ProcessResult {
        guard !container.wasStopped else {
            return ProcessResult(end: .stopped, seconds: 0, output: [], errors: [])
        }
        let folder = "\(place.work)/\(number)"
        try PrivateFolder.make(folder)
        try PrivateFolder.make(folder + "/out")
        let passwordFile = folder + "/password"
        let password = subject.entry.password ?? ""
        // The password is a complete line, because some programs reject a file whose first line has no line end.
        try AtomicFile.write(Array((password + "\n").utf8), to: passwordFile)
        var values = subject.values.merging([
            .passwordFile: passwordFile, .password: password, .out: folder + "/out",
        ]) { $1 }
        // A consumer that stores identities must not add test material to the caller's keychain.
        let environment = environment.merging(["KEYSHARE_DEVICE": folder + "/consumer"]) { $1 }
        // Files that remain are removed with the folder of all runs, and that removal reports its failure.
        defer { try? PrivateFolder.removeAll(folder) }
        if let service = subject.service {
            return try await ServiceHost.serve(service, in: folder, settings: place.settings) { host in
                values[.file] = host.item
                return await run(values, environment.merging(["KEYSHARE_SOCKET": host.socket]) { $1 })
            }
        }
        return await run(values, environment)
    }

    private func run(
        _ values: [ConsumerTemplate.Placeholder: String], _ environment: [String: String]
    ) async -> ProcessResult {
        await container.run(
            consumer.program, consumer.arguments(values), environment: environment, folder: workingFolder,
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
            stderr: run.excerpt, file: entry.file,
            behaviour: entry.expectedBehaviour)
    }
}
