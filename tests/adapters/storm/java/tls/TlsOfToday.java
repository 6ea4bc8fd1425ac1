import java.io.IOException;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLSocket;
import javax.security.auth.Subject;
import org.apache.storm.security.auth.ReqContext;
import org.apache.storm.security.auth.SingleUserPrincipal;
import org.apache.storm.security.auth.tls.TlsTransportPlugin;
import org.apache.storm.thrift.TException;
import org.apache.storm.thrift.TProcessor;
import org.apache.storm.thrift.TProcessorFactory;
import org.apache.storm.thrift.protocol.TProtocol;
import org.apache.storm.thrift.server.TServer;
import org.apache.storm.thrift.transport.TSocket;
import org.apache.storm.thrift.transport.TTransportException;

/** Storm's TLS transport, which asks Java for certificates in a way that Java has not had since 15. */
public final class TlsOfToday extends TlsTransportPlugin {
    @Override
    public TServer getServer(TProcessor processor) throws IOException, TTransportException {
        TServer made = super.getServer(processor);
        try {
            var factory = TServer.class.getDeclaredField("processorFactory_");
            factory.setAccessible(true);
            factory.set(made, new TProcessorFactory(new Named(processor)));
        } catch (ReflectiveOperationException e) {
            throw new IOException(e);
        }
        return made;
    }

    private static final class Named implements TProcessor {
        private final TProcessor wrapped;

        Named(TProcessor wrapped) {
            this.wrapped = wrapped;
        }

        @Override
        public void process(TProtocol in, TProtocol out) throws TException {
            SSLSocket socket = (SSLSocket) ((TSocket) in.getTransport()).getSocket();
            Subject caller = new Subject();
            try {
                X509Certificate certificate = (X509Certificate) socket.getSession().getPeerCertificates()[0];
                caller.getPrincipals().add(new SingleUserPrincipal(certificate.getSubjectX500Principal().getName()));
            } catch (IOException e) {
                throw new TException(e);
            }
            ReqContext context = ReqContext.context();
            context.setRemoteAddress(socket.getInetAddress());
            context.setSubject(caller);
            wrapped.process(in, out);
        }
    }
}
