package headworks.storm.peer;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * The caller's half of an exchange in which both sides prove that they know a token, which itself never travels.
 *
 * Challenge and response by HMAC-SHA256, a line each; `headworks_storm/peers/proof.py` is the other half and says why.
 */
public final class Proof {
    private static final String PROTOCOL = "headworks1";
    private static final String ALGORITHM = "HmacSHA256";
    /** Random bytes of a nonce. With far fewer one could come twice, and with it an old proof be good again. */
    private static final int NONCE = 16;
    /** Bytes of a line, of which a listener's has 97; a longer one is no proof. */
    private static final int LONGEST = 200;
    private static final SecureRandom RANDOM = new SecureRandom();

    private Proof() {
    }

    /** The other side does not know the token. */
    public static final class Stranger extends IOException {
        private static final long serialVersionUID = 1L;

        Stranger() {
            super("the listener does not know the token");
        }
    }

    /**
     * Make the listener prove itself, then prove this side to it.
     *
     * @param in what the listener says; no more is read of it than its line
     * @param place port of the listener, "-" where callers may reach it by another one
     * @param name who calls, without blanks
     * @throws Stranger the listener has no proof
     */
    public static void exchange(InputStream in, OutputStream out, String token, String place, String name)
            throws IOException {
        byte[] random = new byte[NONCE];
        RANDOM.nextBytes(random);
        String nonce = hex(random);
        say(out, PROTOCOL + " " + name + " " + nonce);
        String[] words = line(in).split(" ", -1);
        if (words.length != 2 || !words[0].matches("[0-9a-f]{32}")) {
            throw new Stranger();
        }
        String nonces = place + " " + name + " " + nonce + " " + words[0];
        byte[] expected = prove(token, PROTOCOL + " listener " + nonces).getBytes(StandardCharsets.US_ASCII);
        if (!MessageDigest.isEqual(expected, words[1].getBytes(StandardCharsets.US_ASCII))) {
            throw new Stranger();
        }
        say(out, prove(token, PROTOCOL + " caller " + nonces));
    }

    /** The token of one topology, made of the collector's; see `derive` in the other half. */
    public static String derive(String token, String topology) {
        return prove(token, "topology " + topology);
    }

    /** A text as hexadecimal digits of its UTF-8: a name without blanks. */
    public static String hex(String text) {
        return hex(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String prove(String token, String words) {
        try {
            Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(new SecretKeySpec(token.getBytes(StandardCharsets.UTF_8), ALGORITHM));
            return hex(mac.doFinal(words.getBytes(StandardCharsets.UTF_8)));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e); // every Java has this algorithm
        }
    }

    private static void say(OutputStream out, String line) throws IOException {
        out.write((line + "\n").getBytes(StandardCharsets.US_ASCII));
        out.flush();
    }

    private static String line(InputStream in) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int next = in.read(); next != '\n'; next = in.read()) {
            if (next < 0) {
                throw new EOFException("the listener hung up");
            }
            if (line.size() >= LONGEST) {
                throw new Stranger();
            }
            line.write(next);
        }
        return line.toString(StandardCharsets.US_ASCII);
    }

    private static String hex(byte[] bytes) {
        StringBuilder digits = new StringBuilder(2 * bytes.length);
        for (byte each : bytes) {
            digits.append(Character.forDigit(each >> 4 & 15, 16)).append(Character.forDigit(each & 15, 16));
        }
        return digits.toString();
    }
}
