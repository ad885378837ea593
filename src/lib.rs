//! kafkabi: the Kafka client made to be called from other languages.
//!
//! A layer calls only downward:
//!
//! | module | what lives there |
//! |---|---|
//! | `abi` | the `extern "C"` functions: check arguments, call the client, fill the error |
//! | `client` | the safe core: producer, consumer, events, embedded cluster, configuration |
//! | `rd` | thin safe owners of librdkafka's objects |
//! | `handle` | the table behind the handles |
//! | `record`, `status`, `error` | the plain data that all layers share |

#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod abi;
pub mod client;
pub mod error;
#[doc(hidden)]
#[allow(unsafe_code)]
pub mod handle;
#[allow(unsafe_code)]
pub mod rd;
pub mod record;
pub mod status;
