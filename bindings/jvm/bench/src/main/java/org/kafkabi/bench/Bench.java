package org.kafkabi.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.stream.DoubleStream;
import org.kafkabi.Admin;
import org.kafkabi.Config;

/**
 * Measures this library beside Apache's Java client in one process, against one real broker, in rounds that alternate:
 *
 * <pre>{@code Bench BOOTSTRAP BYTES MESSAGES ROUNDS [CONTENDER...]}</pre>
 *
 * <p>Contenders: java-callback, kafkabi-callback, java-future, kafkabi-future, java-poll, kafkabi-poll, kafkabi-views.
 * Each line gives medians of messages a second, of processor time of the whole process and of bytes allocated by its
 * threads, both a message, and the medians of the rounds' ratios to Apache's client doing the same. The first third of
 * the rounds warms up and is left out.
 */
public final class Bench {
    static final int LINGER_MS = 5;

    /** Futures that are kept until they are looked at, as a program does that checks each. */
    static final int WINDOW = 10_000;

    private static final int PARTITIONS = 4;
    private static final List<String> ALL = List.of("java-callback", "kafkabi-callback", "java-future", "kafkabi-future",
            "java-poll", "kafkabi-poll", "kafkabi-views");

    private Bench() {}

    static <T> List<T> partitions(BiFunction<String, Integer, T> make, String topic) {
        List<T> partitions = new ArrayList<>();
        for (int i = 0; i < PARTITIONS; i++) {
            partitions.add(make.apply(topic, i));
        }
        return partitions;
    }

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0];
        int bytes = Integer.parseInt(arguments[1]);
        int messages = Integer.parseInt(arguments[2]);
        int rounds = Integer.parseInt(arguments[3]);
        List<String> chosen =
                arguments.length > 4 ? Arrays.asList(arguments).subList(4, arguments.length) : ALL;
        String sendTopic = "bench-send-" + System.nanoTime();
        String readTopic = "bench-read-" + System.nanoTime();
        try (Admin admin = new Admin(Config.of(bootstrap))) {
            admin.createTopic(sendTopic, PARTITIONS, 1);
            admin.createTopic(readTopic, PARTITIONS, 1);
            try {
                if (chosen.stream().anyMatch(name -> !sends(name))) {
                    try (Contender filling = new Kafkabi.Callback(bootstrap, readTopic, bytes)) {
                        filling.round(messages);
                    }
                }
                measure(chosen, name -> make(name, bootstrap, sends(name) ? sendTopic : readTopic, bytes), bytes, messages,
                        rounds);
            } finally {
                admin.deleteTopic(sendTopic);
                admin.deleteTopic(readTopic);
            }
        }
    }

    private static boolean sends(String name) {
        return name.endsWith("callback") || name.endsWith("future");
    }

    private static Contender make(String name, String bootstrap, String topic, int bytes) {
        return switch (name) {
            case "java-callback" -> new Apache.Callback(bootstrap, topic, bytes);
            case "java-future" -> new Apache.Futures(bootstrap, topic, bytes);
            case "java-poll" -> new Apache.Poll(bootstrap, topic);
            case "kafkabi-callback" -> new Kafkabi.Callback(bootstrap, topic, bytes);
            case "kafkabi-future" -> new Kafkabi.Futures(bootstrap, topic, bytes);
            case "kafkabi-poll" -> new Kafkabi.Poll(bootstrap, topic);
            case "kafkabi-views" -> new Kafkabi.Views(bootstrap, topic);
            default -> throw new IllegalArgumentException("there is no contender " + name + ": " + ALL);
        };
    }

    /** What a contender of ours is compared to. */
    private static String rival(String name) {
        return sends(name) ? name.replace("kafkabi", "java") : "java-poll";
    }

    @FunctionalInterface
    private interface Maker {
        Contender make(String name);
    }

    private static void measure(List<String> names, Maker maker, int bytes, int messages, int rounds) throws Exception {
        int warmUp = Math.max(1, rounds / 3);
        Map<String, List<Meter.Figures>> figures = new LinkedHashMap<>();
        Map<String, Contender> contenders = new LinkedHashMap<>();
        try {
            for (String name : names) {
                contenders.put(name, maker.make(name));
                figures.put(name, new ArrayList<>());
            }
            for (int round = 0; round < rounds; round++) {
                for (int i = 0; i < names.size(); i++) {
                    // Each round begins with another one, so that none always runs in another's shadow.
                    String name = names.get((i + round) % names.size());
                    Meter meter = new Meter();
                    contenders.get(name).round(messages);
                    if (round >= warmUp) {
                        figures.get(name).add(meter.figures(messages));
                    }
                }
            }
        } finally {
            contenders.values().forEach(Contender::close);
        }
        System.out.printf(Locale.ROOT, "%d B, %d messages a round, %d rounds and %d to warm up, %d partitions, JDK %s%n",
                bytes, messages, rounds - warmUp, warmUp, PARTITIONS, System.getProperty("java.version"));
        figures.forEach((name, own) -> print(name, own, figures.getOrDefault(rival(name), own)));
    }

    private static void print(String name, List<Meter.Figures> own, List<Meter.Figures> rivals) {
        double[] rates = new double[own.size()];
        double[] times = new double[own.size()];
        for (int i = 0; i < rates.length; i++) {
            rates[i] = own.get(i).rate() / rivals.get(i).rate();
            times[i] = own.get(i).micros() / rivals.get(i).micros();
        }
        System.out.printf(Locale.ROOT,
                "%-18s %9.0f msg/s (x %.2f)  %6.3f us CPU (x %.2f, quartiles %.2f-%.2f)  %7.1f B allocated%n", name,
                middle(own.stream().mapToDouble(Meter.Figures::rate)), at(rates, 0.5),
                middle(own.stream().mapToDouble(Meter.Figures::micros)), at(times, 0.5), at(times, 0.25), at(times, 0.75),
                middle(own.stream().mapToDouble(Meter.Figures::bytes)));
    }

    private static double middle(DoubleStream values) {
        return at(values.toArray(), 0.5);
    }

    private static double at(double[] values, double quantile) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[(int) Math.round(quantile * (sorted.length - 1))];
    }
}
