//! Why a broker's certificate was refused. librdkafka says only that it could not be verified; OpenSSL's
//! reason is known just inside the verification, on a thread of librdkafka's. It is kept here until the
//! error that it belongs to has come through the queue. Whether a certificate is good stays OpenSSL's
//! decision alone.

use super::client::Client;
use super::conf::Conf;
use super::{sys, text_of};
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// OpenSSL's number of the last refusal, by client (its address) and broker ("host:port").
static REFUSALS: Mutex<BTreeMap<(usize, String), i32>> = Mutex::new(BTreeMap::new());

fn refusals() -> MutexGuard<'static, BTreeMap<(usize, String), i32>> {
    REFUSALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes the refusals of the client that will be made of this configuration.
pub(super) fn watch(conf: &Conf) {
    // SAFETY: the object is alive; the function keeps to the callback's contract.
    unsafe { sys::rd_kafka_conf_set_ssl_cert_verify_cb(conf.as_ptr(), Some(on_certificate)) };
}

/// OpenSSL's number (X509_V_ERR_*) of why this client last refused the broker that `text` names.
pub fn refusal(client: &Client, text: &str) -> Option<i32> {
    let address = client.address();
    refusals()
        .range((address, String::new())..)
        .take_while(|((of, _), _)| *of == address)
        .find(|((_, broker), _)| text.contains(broker.as_str()))
        .map(|(_, number)| *number)
}

/// The client is gone, and another may come to have its address.
pub(super) fn forget(address: usize) {
    refusals().retain(|(of, _), _| *of != address);
}

/// Called for each certificate of a broker's chain, with OpenSSL's verdict, which is passed on as it is.
unsafe extern "C" fn on_certificate(
    rk: *mut sys::rd_kafka_t,
    broker: *const c_char,
    _id: i32,
    x509_error: *mut c_int,
    _depth: c_int,
    _certificate: *const c_char,
    _size: usize,
    reason: *mut c_char,
    reason_size: usize,
    _opaque: *mut c_void,
) -> c_int {
    // SAFETY: librdkafka gives a valid number.
    let number = unsafe { *x509_error };
    if number == 0 {
        return 1;
    }
    // SAFETY: librdkafka gives the broker's terminated name.
    let broker = unsafe { text_of(broker) };
    refusals().insert((rk.addr(), broker), number);
    write_reason(number, reason, reason_size);
    0
}

/// For librdkafka's log line.
fn write_reason(number: i32, reason: *mut c_char, size: usize) {
    let text = format!("OpenSSL's verification error {number}");
    if size > text.len() {
        // SAFETY: the text and its NUL fit; librdkafka's buffer is not our string.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr().cast(), reason, text.len());
            *reason.add(text.len()) = 0;
        }
    }
}
