import SharingChannels
import DeviceSimulation
import TestSupport
import Testing

/// Every channel must do the same; the manager over all of them is one more.
let channels: [ChannelFactory] = {
    let single = ChannelFactory.all(runtimeDirectory: nil)
    let manager = ChannelFactory(
        "manager", prepare: { ends in for channel in single { try channel.prepare(ends) } },
        make: { ends in FallbackChannel(try single.map { try $0.make(ends) }) })
    return single + [manager]
}()

extension ChannelFactory: CustomTestStringConvertible {
    package var testDescription: String { name }

    /// Gives `body` the channel between `ends`, and ends what runs for it.
    func use(between ends: ChannelEndpoints, _ body: (any SharingChannel) async throws -> Void) async throws {
        try prepare(ends)
        let channel = try make(ends)
        do {
            try await body(channel)
        } catch {
            await channel.stop()
            throw error
        }
        await channel.stop()
    }
}
