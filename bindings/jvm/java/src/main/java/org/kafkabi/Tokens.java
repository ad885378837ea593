package org.kafkabi;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import org.kafkabi.lowlevel.Constants;
import org.kafkabi.lowlevel.Memory;

/** Asks a provider for a token and hands the answer to a client. */
final class Tokens {
    private Tokens() {}

    /** The client's function that takes a token: addresses, and when it ends. */
    @FunctionalInterface
    interface Setter {
        int set(long token, long expires, long principal, long extensions, long error);
    }

    /** The client's function that is told why there is none. */
    @FunctionalInterface
    interface Failer {
        int fail(long why, long error);
    }

    static void answer(TokenProvider provider, String config, Setter setter, Failer failer, Logger logger) {
        String why;
        try {
            TokenProvider.Token token = provider.token(config);
            why = set(token, setter);
        } catch (Exception | Error failure) {
            logger.log(Level.WARNING, "the token provider failed", failure);
            why = failure.toString();
        }
        if (why != null) {
            ByteBuffer text = Memory.text(why.replace('\0', ' '));
            failer.fail(Memory.address(text), 0);
            Reference.reachabilityFence(text);
        }
    }

    private static String set(TokenProvider.Token token, Setter setter) {
        ByteBuffer value = Memory.text(token.value());
        ByteBuffer principal = Memory.text(token.principal());
        ByteBuffer extensions = token.extensions().isEmpty() ? null : Memory.text(Json.write(token.extensions()));
        try (Scratch scratch = Scratch.take()) {
            int status = setter.set(Memory.address(value), token.expires(), Memory.address(principal),
                    extensions == null ? 0 : Memory.address(extensions), scratch.error());
            return status == Constants.KABI_STATUS_OK ? null : scratch.message();
        } finally {
            Reference.reachabilityFence(value);
            Reference.reachabilityFence(principal);
            Reference.reachabilityFence(extensions);
        }
    }
}
