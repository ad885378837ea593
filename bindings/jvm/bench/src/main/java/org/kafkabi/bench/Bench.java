package org.kafkabi.bench;

import clojure.java.api.Clojure;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.kafkabi.Admin;
import org.kafkabi.Config;
import org.kafkabi.NewTopic;
import org.kafkabi.bench.Meter.Figures;

/**
 * Measures this library beside Apache's Java client in one process, against one real broker, in rounds that alternate:
 *
 * <pre>{@code Bench BOOTSTRAP BYTES MESSAGES ROUNDS [CONTENDER...]}</pre>
 *
 * <p>Each round makes each client anew and closes it before the next one begins, so that none works beside another, by
 * fetching ahead for example. Senders share a topic of the round. What a new client waits for is not measured. Who reads
 * reads all that the topic has.
 *
 * <p>Each line gives medians of messages a second, of processor time of the whole process, how much of it the compiler had
 * still to do, and of bytes allocated by its threads, all a message; the medians of the rounds' ratios to Apache's client
 * doing the same; and whether the aims were reached. The first third of the rounds warms up and is left out.
 */
public final class Bench {
    private static final List<String> ALL = List.of(
            "java-callback", "kafkabi-callback", "clojure-callback", "java-future", "kafkabi-future", "clojure-future",
            "java-poll", "kafkabi-poll", "kafkabi-views", "clojure-poll", "clojure-records");

    private Bench() {}

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0];
        int bytes = Integer.parseInt(arguments[1]);
        int messages = Integer.parseInt(arguments[2]);
        int rounds = Integer.parseInt(arguments[3]);
        List<String> chosen = arguments.length > 4 ? Arrays.asList(arguments).subList(4, arguments.length) : ALL;
        if (!ALL.containsAll(chosen)) {
            throw new IllegalArgumentException("there are the contenders " + ALL + ", not all of " + chosen);
        }
        try (Admin admin = new Admin(Config.of(bootstrap))) {
            Work reading = topic(admin, bootstrap, bytes);
            try {
                if (!chosen.stream().allMatch(Bench::sends)) {
                    try (Contender filling = new Kafkabi.Callback(reading)) {
                        filling.run(messages, new Meter());
                    }
                }
                tell(chosen, measure(admin, chosen, reading, messages, rounds), rounds, messages, bytes);
            } finally {
                admin.deleteTopic(reading.topic());
            }
        }
    }

    /** A new topic, whose files are gone soon after it. */
    private static Work topic(Admin admin, String bootstrap, int bytes) {
        Work work = new Work(bootstrap, "bench-" + System.nanoTime(), bytes);
        NewTopic topic = new NewTopic(work.topic(), Work.PARTITIONS, 1);
        admin.createTopics(List.of(topic.withConfigs(Map.of("file.delete.delay.ms", "1000")))).get(work.topic()).join();
        return work;
    }

    private static boolean sends(String name) {
        return name.endsWith("callback") || name.endsWith("future");
    }

    private static Contender make(String name, Work work) {
        return switch (name) {
            case "java-callback" -> new Apache.Callback(work);
            case "java-future" -> new Apache.Futures(work);
            case "java-poll" -> new Apache.Poll(work);
            case "kafkabi-callback" -> new Kafkabi.Callback(work);
            case "kafkabi-future" -> new Kafkabi.Futures(work);
            case "kafkabi-poll" -> new Kafkabi.Poll(work);
            case "kafkabi-views" -> new Kafkabi.Views(work);
            default -> clojure(name, work);
        };
    }

    private static Contender clojure(String name, Work work) {
        Clojure.var("clojure.core", "require").invoke(Clojure.read("kafkabi.bench.contenders"));
        return (Contender) Clojure.var("kafkabi.bench.contenders", name).invoke(work);
    }

    private static int warmUp(int rounds) {
        return Math.max(1, rounds / 3);
    }

    private static Map<String, List<Figures>> measure(
            Admin admin, List<String> names, Work reading, int messages, int rounds) throws Exception {
        Map<String, List<Figures>> figures = new LinkedHashMap<>();
        names.forEach(name -> figures.put(name, new ArrayList<>()));
        for (int round = 0; round < rounds; round++) {
            Work sending = topic(admin, reading.bootstrap(), reading.bytes());
            for (int i = 0; i < names.size(); i++) {
                // Each round begins with another one, so that none always runs in another's shadow.
                String name = names.get((i + round) % names.size());
                Figures measured = once(make(name, sends(name) ? sending : reading), messages);
                if (round >= warmUp(rounds)) {
                    figures.get(name).add(measured);
                }
            }
            admin.deleteTopic(sending.topic());
        }
        return figures;
    }

    private static Figures once(Contender made, int messages) throws Exception {
        try (Contender contender = made) {
            contender.ready();
            System.gc(); // What others have left behind is not to be cleared away in this one's time.
            Meter meter = new Meter();
            contender.run(messages, meter);
            return meter.figures(messages);
        }
    }

    // ---- telling ----

    private static void tell(List<String> names, Map<String, List<Figures>> figures, int rounds, int messages, int bytes) {
        System.out.printf(Locale.ROOT, "%d B, %d messages a round, %d rounds and %d to warm up, %d partitions, JDK %s%n",
                bytes, messages, rounds - warmUp(rounds), warmUp(rounds), Work.PARTITIONS, System.getProperty("java.version"));
        for (String name : names) {
            System.out.println(new Row(name, figures.get(name), figures.get(rival(name))));
        }
    }

    /** Who of Apache's client does the same. */
    private static String rival(String name) {
        return sends(name) ? "java" + name.substring(name.indexOf('-')) : "java-poll";
    }
}
