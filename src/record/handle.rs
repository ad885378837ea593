//! The opaque handle types. A handle is a number in a pointer's clothes: no memory is behind it.

/// Properties, event mask and handlers from which a client is made.
///
/// Made by kabi_config_new() and released by kabi_config_free(). A client copies what it needs,
/// so one configuration may make many clients and may be freed right after. Safe to use from
/// several threads.
#[repr(C)]
pub struct kabi_config_t {
    _private: [u8; 0],
}

/// A client that sends records.
///
/// Made by kabi_producer_new() and released by kabi_producer_free(). Safe to use from several
/// threads.
#[repr(C)]
pub struct kabi_producer_t {
    _private: [u8; 0],
}

/// A client that receives records, alone or as a member of a group.
///
/// Made by kabi_consumer_new() and released by kabi_consumer_free(). Safe to use from several
/// threads; a second poll while one runs gives KABI_STATUS_BUSY.
#[repr(C)]
pub struct kabi_consumer_t {
    _private: [u8; 0],
}

/// A client that administers a cluster, of its own or on top of a producer or a consumer.
///
/// Made by kabi_admin_new(), kabi_admin_of_producer() or kabi_admin_of_consumer() and released by
/// kabi_admin_free(). Safe to use from several threads.
#[repr(C)]
pub struct kabi_admin_t {
    _private: [u8; 0],
}

/// The received records that one kabi_consumer_poll() handed out.
///
/// Keeps the memory that its kabi_record_t entries point to. Released by kabi_batch_free(), after
/// which all pointers from it are invalid. It may outlive its consumer's close.
#[repr(C)]
pub struct kabi_batch_t {
    _private: [u8; 0],
}

/// An embedded Kafka cluster inside this process, for demonstrations and tests.
///
/// Made by kabi_cluster_new() and released by kabi_cluster_free(). It listens on loopback ports,
/// so clients of other processes on the same machine can use it too.
#[repr(C)]
pub struct kabi_cluster_t {
    _private: [u8; 0],
}
