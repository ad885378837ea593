package org.kafkabi;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.Objects;
import org.kafkabi.lowlevel.Memory;

/** Gives a living client another user name and password. */
final class Credentials {
    private Credentials() {}

    /** The client's function: addresses of the user's name, the password and the error. */
    @FunctionalInterface
    interface Setter {
        int set(long username, long password, long error);
    }

    static void set(String username, String password, Setter setter) {
        ByteBuffer user = Memory.text(Objects.requireNonNull(username, "the user name is null"));
        ByteBuffer secret = Memory.text(Objects.requireNonNull(password, "the password is null"));
        try (Scratch scratch = Scratch.take()) {
            scratch.check(setter.set(Memory.address(user), Memory.address(secret), scratch.error()));
        } finally {
            secret.clear();
            while (secret.hasRemaining()) {
                secret.put((byte) 0);
            }
            Reference.reachabilityFence(user);
            Reference.reachabilityFence(secret);
        }
    }
}
