package headworks.storm;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;

/** The one JSON mapper; Jackson is on the classpath of every Nimbus that this jar supports. */
final class Json {
    /** Reads strictly: a key twice, or text after the document, is an error. */
    static final ObjectMapper MAPPER = new ObjectMapper()
        .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

    private Json() {
    }
}
