package org.kafkabi;

import java.util.Map;

/** Gives tokens for SASL/OAUTHBEARER; see {@link Config#tokens}. */
@FunctionalInterface
public interface TokenProvider {
    /**
     * A token.
     *
     * @param value what is sent to brokers
     * @param expires when it ends, in milliseconds since 1970
     * @param principal whose it is
     * @param extensions SASL extensions by name; may be empty
     */
    record Token(String value, long expires, String principal, Map<String, String> extensions) {
        /** A token without extensions. */
        public Token(String value, long expires, String principal) {
            this(value, expires, principal, Map.of());
        }
    }

    /**
     * Called on the client's event thread when it is made, and when most of a token's life is over. An exception says
     * that there is none to be had now; the client asks again after ten seconds.
     *
     * @param config the value of the property sasl.oauthbearer.config; may be empty
     */
    Token token(String config) throws Exception;
}
