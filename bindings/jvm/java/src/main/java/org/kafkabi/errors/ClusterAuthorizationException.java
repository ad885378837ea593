package org.kafkabi.errors;

import org.kafkabi.lowlevel.Constants;

/** The principal may not do that with the cluster. */
public class ClusterAuthorizationException extends AuthorizationException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public ClusterAuthorizationException(String message) {
        this(message, Constants.KABI_STATUS_CLUSTER_AUTHORIZATION_FAILED, 0, null);
    }

    /** As {@link org.kafkabi.KafkaException#KafkaException(String, int, int, Throwable)}. */
    public ClusterAuthorizationException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
