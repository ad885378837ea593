package org.kafkabi;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;

/** Documents of configurations and credentials. */
final class AdminConfigs {
    private AdminConfigs() {}

    static Map<String, Object> document(ConfigResource resource) {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("type", Words.text(resource.type()));
        document.put("name", resource.name());
        return document;
    }

    static Map<String, Object> document(ConfigResource resource, String name, Object value) {
        Map<String, Object> document = document(resource);
        document.put(name, value);
        return document;
    }

    static List<ScramCredential> credentials(Map<String, Object> item) {
        return Documents.list(item, "credentials").stream().map(ScramCredential::of).toList();
    }

    /** Makes as many requests as are needed: a broker's configuration is known to that broker only. */
    static <T> Map<ConfigResource, CompletableFuture<T>> split(Map<ConfigResource, Map<String, Object>> documents,
            BiFunction<Set<ConfigResource>, Collection<Map<String, Object>>, Map<ConfigResource, CompletableFuture<T>>> ask) {
        Map<ConfigResource, Map<String, Object>> together = new LinkedHashMap<>(documents);
        together.keySet().removeIf(resource -> resource.type() == ConfigResource.Type.BROKER);
        Map<ConfigResource, CompletableFuture<T>> futures = new LinkedHashMap<>();
        documents.keySet().forEach(resource -> futures.put(resource, null)); // the order of the caller
        futures.putAll(ask.apply(together.keySet(), together.values()));
        documents.forEach((resource, document) -> {
            if (resource.type() == ConfigResource.Type.BROKER) {
                futures.putAll(ask.apply(Set.of(resource), List.of(document)));
            }
        });
        return futures;
    }
}
