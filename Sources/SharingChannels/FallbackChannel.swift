package import DeviceSimulation
package import Foundation

/// Several channels as one: the first in the order of preference that is open.
package struct FallbackChannel: SharingChannel {
    /// What the channel is called.
    package let name = "manager"
    private let channels: [any SharingChannel]

    /// A channel over `channels`, the best first.
    package init(_ channels: [any SharingChannel]) {
        self.channels = channels
    }

    /// Takes the first channel that is open; what an earlier credential left on the others goes.
    ///
    /// - Throws: `SharingChannelError`: `.noChannel` when none is open, with the last channel's error as its cause; that of a
    ///   channel on which an earlier credential stays. The new one is on none then.
    package func send(_ credential: Credential, now: Date) async throws(SharingChannelError) {
        _ = try await sendNamingChannel(credential, now: now)
    }

    /// The same.
    ///
    /// - Throws: `SharingChannelError`, as above.
    /// - Returns: the name of the channel that was taken.
    package func sendNamingChannel(
        _ credential: Credential, now: Date
    ) async throws(SharingChannelError) -> String {
        var last: SharingChannelError?
        for (index, channel) in channels.enumerated() {
            do throws(SharingChannelError) {
                try await channel.send(credential, now: now)
            } catch {
                last = error
                continue
            }
            // Else a receiver could find an older one on a better channel, or a worse one later.
            do throws(SharingChannelError) {
                try await remove(except: index)
            } catch {
                try? await channel.remove()
                throw error
            }
            return channel.name
        }
        throw SharingChannelError(
            .noChannel, "none of \(channels.count) channels is open: \(last?.reason ?? "there is none")",
            hint: last?.hint, cause: last)
    }

    /// Looks on each channel, the best first. When none gives anything, the first that holds something and does
    /// not give it says why.
    ///
    /// - Throws: `SharingChannelError`: `.noChannel` when `app` has no way to any of them.
    package func receive(
        by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) async throws(SharingChannelError) -> Credential? {
        var trouble: SharingChannelError?
        var closed: SharingChannelError?
        var isAnyOpen = false
        for channel in channels {
            do throws(SharingChannelError) {
                if let credential = try await channel.receive(by: app, now: now, consent: consent) {
                    return credential
                }
                isAnyOpen = true
            } catch {
                switch error.code {
                case .missingEntitlement, .notPaired, .notPermitted: closed = closed ?? error
                default: trouble = trouble ?? error
                }
            }
        }
        if let trouble { throw trouble }
        if isAnyOpen { return nil }
        throw SharingChannelError(
            .noChannel, "none of \(channels.count) channels is open: \(closed?.reason ?? "there is none")",
            hint: closed?.hint, cause: closed)
    }

    /// Takes it from every channel that is open.
    ///
    /// - Throws: `SharingChannelError`: the first channel's that does not give it up; the others were tried all the same.
    package func remove() async throws(SharingChannelError) {
        try await remove(except: nil)
    }

    private func remove(except kept: Int?) async throws(SharingChannelError) {
        var first: SharingChannelError?
        for (index, channel) in channels.enumerated() where index != kept {
            do throws(SharingChannelError) {
                try await channel.remove()
            } catch {
                // What it could not be sent on holds nothing of this sender's.
                if error.code != .missingEntitlement { first = first ?? error }
            }
        }
        if let first { throw first }
    }

    /// Ends what runs for any of them.
    package func stop() async {
        for channel in channels { await channel.stop() }
    }
}
