//! What belongs to the library as a whole: the ABI's version and the status type.

/// The version of the ABI that this header describes: major number << 16 | minor number.
///
/// A library with the same major number and an equal or higher minor number fits this header.
/// Compare with kabi_abi_version(), or better call kabi_abi_check() once after loading.
pub const KABI_ABI_VERSION: u32 = 0x0001_0000;

/// What every function that can fail returns: a KABI_STATUS_* number, 0 for success.
///
/// Positive numbers come from brokers and are Kafka's own; -1 to -199 are librdkafka's, raised
/// inside this process; numbers below -1000 are kafkabi's. A number is never used again for
/// something else. Codes that this header does not name can come from newer brokers, so treat an
/// unknown number as a failure.
pub type kabi_status_t = i32;
