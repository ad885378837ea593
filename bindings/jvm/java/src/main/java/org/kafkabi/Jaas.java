package org.kafkabi;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.kafkabi.errors.ConfigException;

/** Reads {@code sasl.jaas.config} for PLAIN and SCRAM: a login module, "required", and options. */
final class Jaas {
    private static final Pattern MODULE = Pattern.compile("\\s*([\\w.$]+)\\s+(\\w+)\\s*(.*?)\\s*;\\s*", Pattern.DOTALL);
    private static final Pattern OPTION =
            Pattern.compile("\\G\\s*([\\w.]+)\\s*=\\s*(?:\"((?:[^\"\\\\]|\\\\.)*)\"|'((?:[^'\\\\]|\\\\.)*)'|([^\\s\"';]+))");

    private Jaas() {}

    static Map<String, String> translate(String value) {
        Matcher module = MODULE.matcher(value);
        if (!module.matches()) {
            throw wrong("it is not of the form: LoginModule required username=\"...\" password=\"...\";");
        }
        String name = module.group(1).substring(module.group(1).lastIndexOf('.') + 1);
        if (!name.equals("PlainLoginModule") && !name.equals("ScramLoginModule")) {
            throw wrong("the login module " + name + " has no equal here: only PLAIN's and SCRAM's have; use"
                    + " Config.tokens for OAUTHBEARER and sasl.kerberos.* for GSSAPI");
        }
        Map<String, String> options = options(module.group(3));
        Map<String, String> translated = new LinkedHashMap<>();
        translated.put("sasl.username", required(options, "username"));
        translated.put("sasl.password", required(options, "password"));
        return translated;
    }

    private static Map<String, String> options(String text) {
        Map<String, String> options = new LinkedHashMap<>();
        Matcher option = OPTION.matcher(text);
        int end = 0;
        while (option.find()) {
            String quoted = option.group(2) != null ? option.group(2) : option.group(3);
            options.put(option.group(1), quoted != null ? quoted.replaceAll("\\\\(.)", "$1") : option.group(4));
            end = option.end();
        }
        if (!text.substring(end).isBlank()) {
            throw wrong("its options are not of the form name=\"value\"");
        }
        return options;
    }

    private static String required(Map<String, String> options, String name) {
        String value = options.get(name);
        if (value == null) {
            throw wrong("it has no " + name);
        }
        return value;
    }

    /** The value holds a password, so no message shows it. */
    private static ConfigException wrong(String why) {
        return new ConfigException("the property sasl.jaas.config can't be understood: " + why);
    }
}
