//! Tokens for SASL/OAUTHBEARER.

use super::client::Client;
use super::{c_string, check, sys, take_error, text_of};
use crate::error::Error;
use std::ffi::{c_char, CString};

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

    /// librdkafka makes its tokens itself, on a thread of its own, as it is told when to.
    pub(super) fn refresh_tokens_in_background(&self) -> Result<(), Error> {
        // SAFETY: the client is alive; the error object is ours.
        unsafe {
            let error = sys::rd_kafka_sasl_background_callbacks_enable(self.as_ptr());
            take_error(error, "refreshing tokens")
        }
    }
}
