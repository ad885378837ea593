package org.kafkabi;

import java.util.List;
import java.util.Map;

/**
 * A property of a topic, a group or a broker.
 *
 * @param name its name
 * @param value its value; null if it has none or is a secret
 * @param source where the value comes from: "topic", "group", "broker", "brokers", "file" or "default"
 * @param isDefault whether nobody has set it
 * @param readOnly whether it can't be changed
 * @param sensitive whether it is a secret
 * @param synonyms the names and values that it falls back to, in order, its own included
 */
public record ConfigEntry(String name, String value, String source, boolean isDefault, boolean readOnly,
        boolean sensitive, List<Synonym> synonyms) {
    static ConfigEntry of(Map<String, Object> document) {
        return new ConfigEntry(Documents.text(document, "name"), Documents.text(document, "value"),
                Documents.text(document, "source"), Documents.flag(document, "default"),
                Documents.flag(document, "read_only"), Documents.flag(document, "sensitive"),
                Documents.list(document, "synonyms").stream().map(Synonym::of).toList());
    }

    /**
     * A value that a property may fall back to.
     *
     * @param name the name there
     * @param value the value there, or null
     * @param source where that is
     */
    public record Synonym(String name, String value, String source) {
        static Synonym of(Map<String, Object> document) {
            return new Synonym(Documents.text(document, "name"), Documents.text(document, "value"),
                    Documents.text(document, "source"));
        }
    }
}
