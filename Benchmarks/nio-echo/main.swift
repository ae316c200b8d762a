import NIOCore
import NIOPosix

// usage: nio-echo PATH. Sends back whatever comes on a UNIX-domain socket: what SwiftNIO's event loop costs with
// nothing on top of it. Set up as the provider's server is.

final class Echo: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.writeAndFlush(data, promise: nil)
    }
}

let path = CommandLine.arguments.last ?? ""
let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
let channel = try await ServerBootstrap(group: group)
    .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Echo()) }
    }
    .childChannelOption(.maxMessagesPerRead, value: 1)
    .childChannelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 8_192))
    .bind(unixDomainSocketPath: path).get()
try await channel.closeFuture.get()
