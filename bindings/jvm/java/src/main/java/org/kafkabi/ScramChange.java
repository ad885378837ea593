package org.kafkabi;

import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/** A change of a user's credential. Its text shows no password. */
public final class ScramChange {
    /** The number of iterations where none is said. */
    public static final int DEFAULT_ITERATIONS = 4096;

    private final String user;
    private final ScramMechanism mechanism;
    private final int iterations;
    private final String password;
    private final byte[] salt;

    private ScramChange(String user, ScramMechanism mechanism, int iterations, String password, byte[] salt) {
        this.user = Objects.requireNonNull(user, "the user of a credential is null");
        this.mechanism = Objects.requireNonNull(mechanism, "the mechanism of a credential is null");
        this.iterations = iterations;
        this.password = password;
        this.salt = salt;
    }

    /** Sets a password, with a random salt and {@value #DEFAULT_ITERATIONS} iterations. */
    public static ScramChange set(String user, ScramMechanism mechanism, String password) {
        return set(user, mechanism, DEFAULT_ITERATIONS, password, null);
    }

    /**
     * Sets a password.
     *
     * @param user whose
     * @param mechanism how it is to be kept
     * @param iterations how often it is to be hashed; Kafka takes 4096 to 16384
     * @param password the password
     * @param salt what is hashed with it, or null for something random
     */
    public static ScramChange set(
            String user, ScramMechanism mechanism, int iterations, String password, byte[] salt) {
        Objects.requireNonNull(password, "the password of a credential is null");
        return new ScramChange(user, mechanism, iterations, password, salt == null ? null : salt.clone());
    }

    /** Deletes a credential. */
    public static ScramChange delete(String user, ScramMechanism mechanism) {
        return new ScramChange(user, mechanism, 0, null, null);
    }

    /** Whose credential it is. */
    public String user() {
        return user;
    }

    boolean isDeletion() {
        return password == null;
    }

    Map<String, Object> document() {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("user", user);
        document.put("mechanism", mechanism.text());
        if (!isDeletion()) {
            document.put("iterations", iterations);
            document.put("password", password);
            if (salt != null) {
                document.put("salt_hex", HexFormat.of().formatHex(salt));
            }
        }
        return document;
    }

    @Override
    public String toString() {
        return (isDeletion() ? "delete " : "set ") + mechanism.text() + " of " + user;
    }
}
