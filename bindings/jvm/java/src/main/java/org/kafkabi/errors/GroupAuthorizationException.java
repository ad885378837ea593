package org.kafkabi.errors;

import org.kafkabi.lowlevel.Constants;

/** The principal may not use the group. */
public class GroupAuthorizationException extends AuthorizationException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public GroupAuthorizationException(String message) {
        this(message, Constants.KABI_STATUS_GROUP_AUTHORIZATION_FAILED, 0, null);
    }

    /** As {@link org.kafkabi.KafkaException#KafkaException(String, int, int, Throwable)}. */
    public GroupAuthorizationException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
