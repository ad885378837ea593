package org.kafkabi;

import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** Splits the answer to a request into a future for each thing that was asked for. */
final class Items {
    private Items() {}

    /** What reads an item of an answer's list. */
    interface Reader<T> extends Function<Map<String, Object>, T> {}

    /** A reader of items that tell nothing but how they fared. */
    static Void nothing(Map<String, Object> item) {
        return null;
    }

    /** The keys without repetitions, in order; a null among them is refused. */
    static <K> Set<K> distinct(Collection<K> keys) {
        Set<K> set = new LinkedHashSet<>(keys);
        if (set.contains(null)) {
            throw new IllegalArgumentException("one of what is asked for is null: " + keys);
        }
        return set;
    }

    /** The values by a name of each; two of one name are refused. */
    static <K, V> Map<K, V> byName(Collection<V> values, Function<V, K> name) {
        Map<K, V> map = new LinkedHashMap<>();
        for (V value : values) {
            if (map.putIfAbsent(name.apply(value), value) != null) {
                throw new IllegalArgumentException(name.apply(value) + " is named twice in one request");
            }
        }
        return map;
    }

    /** Null, or what a whole list's failure is: that of its first item that failed, which the message names. */
    static void check(Map<String, Object> document, String list, Function<Map<String, Object>, ?> name) {
        for (Map<String, Object> item : Documents.list(document, list)) {
            KafkaException failure = Documents.failure(item);
            if (failure != null) {
                throw Failures.ofItem(failure.code(), name.apply(item) + ": " + failure.getMessage());
            }
        }
    }

    /** Throws what an item failed by. */
    static Map<String, Object> succeeded(Map<String, Object> item) {
        KafkaException failure = Documents.failure(item);
        if (failure != null) {
            throw failure;
        }
        return item;
    }

    /** One future for each key: that of the item of its name, or of the whole request's failure. */
    static <K, T> Map<K, CompletableFuture<T>> byKey(Collection<K> keys,
            CompletableFuture<Map<String, Object>> answer, String list, Function<Map<String, Object>, K> keyOf,
            Reader<T> reader) {
        CompletableFuture<Map<K, Map<String, Object>>> items = answer.thenApply(document -> {
            Map<K, Map<String, Object>> index = new HashMap<>();
            Documents.list(document, list).forEach(item -> index.put(keyOf.apply(item), item));
            return index;
        });
        Map<K, CompletableFuture<T>> futures = new LinkedHashMap<>();
        for (K key : keys) {
            futures.put(key, items.thenApply(index -> {
                Map<String, Object> item = index.get(key);
                if (item == null) {
                    throw new KafkaException("the brokers' answer says nothing of " + key + ", which was asked for");
                }
                return reader.apply(succeeded(item));
            }));
        }
        return futures;
    }

    /** As {@link #byKey}, for lists whose items have no names: Kafka itself answers these in order. */
    static <K, T> Map<K, CompletableFuture<T>> inOrder(Collection<K> keys,
            CompletableFuture<Map<String, Object>> answer, String list, Reader<T> reader) {
        Map<K, CompletableFuture<T>> futures = new LinkedHashMap<>();
        int index = 0;
        for (K key : keys) {
            int place = index++;
            futures.put(key, answer.thenApply(
                    document -> reader.apply(succeeded(Documents.list(document, list).get(place)))));
        }
        return futures;
    }
}
