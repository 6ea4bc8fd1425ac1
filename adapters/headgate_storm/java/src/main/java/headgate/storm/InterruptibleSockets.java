package headgate.storm;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.channels.SocketChannel;
import javax.net.SocketFactory;

/**
 * Sockets that close when their thread is interrupted, as channels do.
 *
 * A plain socket ignores interrupts, and has no deadline for writing: a stopped Python process would hold the thread.
 */
final class InterruptibleSockets extends SocketFactory {
    private final int connectMillis;

    InterruptibleSockets(int connectMillis) {
        this.connectMillis = connectMillis;
    }

    @Override
    public Socket createSocket(InetAddress address, int port) throws IOException {
        SocketChannel channel = SocketChannel.open();
        try {
            Socket socket = channel.socket();
            socket.setTcpNoDelay(true);
            socket.connect(new InetSocketAddress(address, port), connectMillis);
            return socket;
        } catch (IOException e) {
            channel.close();
            throw e;
        }
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return createSocket(InetAddress.getByName(host), port);
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress from, int fromPort) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(InetAddress address, int port, InetAddress from, int fromPort) {
        throw new UnsupportedOperationException();
    }
}
