//! Tokens for SASL/OAUTHBEARER, and names and passwords for the other mechanisms.

use super::client::Client;
use super::{c_string, check, sys, take_error, text_of};
use crate::error::Error;
use crate::status::KABI_STATUS_STATE;
use std::ffi::{c_char, CStr, CString};

/// A token and what librdkafka has to know of it.
pub struct Token<'a> {
    pub value: &'a str,
    /// Milliseconds since 1970 when it ends.
    pub lifetime_ms: i64,
    pub principal: &'a str,
    pub extensions: &'a [(String, String)],
}

impl Client {
    pub fn set_token(&self, token: &Token<'_>) -> Result<(), Error> {
        let value = c_string(token.value, "the token")
            .map_err(|_| Error::argument("the token has a NUL inside"))?;
        let principal = c_string(token.principal, "the principal")?;
        let mut texts: Vec<CString> = Vec::new();
        for (name, value) in token.extensions {
            texts.push(c_string(name, "an extension's name")?);
            texts.push(c_string(value, "an extension's value")?);
        }
        let mut extensions: Vec<*const c_char> = texts.iter().map(|t| t.as_ptr()).collect();
        // librdkafka counts in microseconds and does not look whether they fit.
        let lifetime_ms = token.lifetime_ms.clamp(0, i64::MAX / 1000);
        let mut text: [c_char; 512] = [0; 512];
        // SAFETY: the client is alive; all texts are terminated and copied; the buffer has the given size.
        let code = unsafe {
            sys::rd_kafka_oauthbearer_set_token(
                self.as_ptr(),
                value.as_ptr(),
                lifetime_ms,
                principal.as_ptr(),
                extensions.as_mut_ptr(),
                extensions.len(),
                text.as_mut_ptr(),
                text.len(),
            )
        };
        if code == 0 {
            return Ok(());
        }
        // SAFETY: librdkafka terminates what it writes, and the buffer began as zeros.
        let why = unsafe { text_of(text.as_ptr()) };
        Err(Error::new(code, format!("token: {why}")))
    }

    pub fn set_token_failure(&self, why: &str) -> Result<(), Error> {
        let why = c_string(why, "the reason")?;
        // SAFETY: the client is alive; the text is terminated and copied.
        let code =
            unsafe { sys::rd_kafka_oauthbearer_set_token_failure(self.as_ptr(), why.as_ptr()) };
        check(code, "token failure: SASL/OAUTHBEARER")
    }

    /// Whether brokers are shown a user name and a password.
    fn has_credentials(&self) -> bool {
        // SAFETY: the client is alive, and so is its configuration, which is not changed here.
        let conf = unsafe { sys::rd_kafka_conf(self.as_ptr()) };
        let is = |name: &CStr, wanted: fn(&str) -> bool| {
            let mut value: [c_char; 128] = [0; 128];
            let mut size = value.len();
            // SAFETY: the texts are terminated, the buffer has this size.
            let code = unsafe {
                sys::rd_kafka_conf_get(conf, name.as_ptr(), value.as_mut_ptr(), &mut size)
            };
            // SAFETY: terminated by librdkafka, or all zeros.
            let value = unsafe { text_of(value.as_ptr()) }.to_ascii_lowercase();
            code == 0 && wanted(&value)
        };
        is(c"security.protocol", |v| v.starts_with("sasl"))
            && is(c"sasl.mechanisms", |v| {
                v == "plain" || v.starts_with("scram-")
            })
    }

    /// User and password for connections from now on.
    pub fn set_credentials(&self, user: &str, password: &str) -> Result<(), Error> {
        let user = c_string(user, "the user name")?;
        if !self.has_credentials() {
            return Err(Error::new(
                KABI_STATUS_STATE,
                "credentials: this client has none, for its security.protocol and sasl.mechanisms are not \
                 SASL with PLAIN or SCRAM",
            ));
        }
        // The message must not say what is refused.
        let password = c_string(password, "the password")
            .map_err(|_| Error::argument("the password has a NUL inside"))?;
        // SAFETY: the client is alive; the texts are terminated and copied; the error object is ours.
        unsafe {
            let error =
                sys::rd_kafka_sasl_set_credentials(self.as_ptr(), user.as_ptr(), password.as_ptr());
            take_error(error, "credentials")
        }
    }

    /// librdkafka makes its tokens itself, on a thread of its own, as it is told when to.
    pub(super) fn refresh_tokens_in_background(&self) -> Result<(), Error> {
        // SAFETY: the client is alive; the error object is ours.
        unsafe {
            let error = sys::rd_kafka_sasl_background_callbacks_enable(self.as_ptr());
            take_error(error, "refreshing tokens")
        }
    }
}
