package org.kafkabi;

import java.util.Map;

/**
 * A user's credential, as far as brokers tell.
 *
 * @param mechanism how the password is kept
 * @param iterations how often it is hashed
 */
public record ScramCredential(ScramMechanism mechanism, int iterations) {
    static ScramCredential of(Map<String, Object> document) {
        return new ScramCredential(
                ScramMechanism.of(Documents.text(document, "mechanism")), Documents.number(document, "iterations"));
    }
}
