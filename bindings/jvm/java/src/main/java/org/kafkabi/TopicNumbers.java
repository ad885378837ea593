package org.kafkabi;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.kafkabi.lowlevel.Memory;

/** The numbers by which one client names topics, both ways; what is known already is not asked for. */
final class TopicNumbers {
    /** The client's function that gives a number: addresses of the name, of the output, and of the error. */
    @FunctionalInterface
    interface ByName {
        int number(long name, long out, long error);
    }

    /** The client's function that gives a name. */
    @FunctionalInterface
    interface ByNumber {
        int name(int topic, long buffer, long size, long length, long error);
    }

    private final ByName byName;
    private final ByNumber byNumber;
    private final ConcurrentHashMap<String, Integer> numbers = new ConcurrentHashMap<>();
    private volatile String[] names = new String[16];

    TopicNumbers(ByName byName, ByNumber byNumber) {
        this.byName = byName;
        this.byNumber = byNumber;
    }

    int number(String topic) {
        Objects.requireNonNull(topic, "the topic is null");
        Integer known = numbers.get(topic);
        return known != null ? known : ask(topic);
    }

    private int ask(String topic) {
        ByteBuffer text = Memory.text(topic);
        try (Scratch scratch = Scratch.take()) {
            scratch.check(byName.number(Memory.address(text), scratch.out(0), scratch.error()));
            int number = scratch.intOut(0);
            learn(number, topic);
            return number;
        } finally {
            Reference.reachabilityFence(text);
        }
    }

    /** The name of a topic; empty for the number that entries have which are about no topic. */
    String name(int number) {
        if (number < 0) {
            return "";
        }
        String[] known = names;
        String name = number < known.length ? known[number] : null;
        if (name != null) {
            return name;
        }
        String asked = Texts.read((buffer, size, length, error) -> byNumber.name(number, buffer, size, length, error));
        learn(number, asked);
        return asked;
    }

    private synchronized void learn(int number, String topic) {
        String[] copy = Arrays.copyOf(names, Math.max(names.length, Integer.highestOneBit(number + 1) * 2));
        copy[number] = topic;
        names = copy;
        numbers.put(topic, number);
    }
}
