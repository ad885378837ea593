package org.kafkabi;

import java.util.List;

/**
 * The groups of a cluster.
 *
 * @param groups those of the brokers that answered
 * @param failures what went wrong with brokers that did not; empty if the list is whole
 */
public record GroupListings(List<GroupListing> groups, List<KafkaException> failures) {}
