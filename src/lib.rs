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
//! | `record`, `document`, `status`, `error` | the plain data that all layers share |

#![deny(unsafe_code)]
// A panic is a fault: it stops at the boundary, but the call it happened in is lost.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

#[doc(hidden)]
#[allow(unsafe_code)]
pub mod abi;
mod bytes;
pub mod client;
pub mod document;
pub mod error;
#[doc(hidden)]
// Cutting words into fields is what it does.
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
#[allow(unsafe_code)]
pub mod handle;
#[allow(unsafe_code)]
pub mod rd;
// Sizes of records, known when it is compiled.
#[allow(clippy::cast_possible_truncation)]
pub mod record;
pub mod status;
