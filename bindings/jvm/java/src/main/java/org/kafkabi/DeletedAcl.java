package org.kafkabi;

/**
 * A rule that fitted a filter to delete by.
 *
 * @param acl the rule
 * @param failure null if it is deleted, else why not
 */
public record DeletedAcl(Acl acl, KafkaException failure) {}
