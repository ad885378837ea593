import org.kafkabi.EmbeddedCluster;

/** Runs an embedded cluster for other programs until the input ends. Prints its addresses. */
public final class Cluster {
    private Cluster() {}

    public static void main(String[] arguments) throws Exception {
        if (arguments.length < 1) {
            System.err.println("usage: Cluster TOPIC...     each gets 3 partitions");
            System.exit(2);
        }
        try (EmbeddedCluster cluster = EmbeddedCluster.start()) {
            for (String topic : arguments) {
                cluster.createTopic(topic, 3);
            }
            System.out.println(cluster.bootstrapServers());
            while (System.in.read() >= 0) {}
        }
    }
}
