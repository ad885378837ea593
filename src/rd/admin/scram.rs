//! SCRAM users. Passwords go to librdkafka, and nowhere else.

use super::{
    c_string, listed, made, result_of, status, sys, text_of, Ask, Asked, Names, Op, Owned,
};
use crate::document::{
    failed, ScramCredential, ScramDeletion, ScramMechanism, ScramOutcome, ScramOutcomes,
    ScramUpsertion, ScramUser, ScramUsers, ScramUsersAlter, ScramUsersDescribe, Secret,
};
use crate::error::Error;
use crate::rd::queue::Event;

impl Ask for ScramUsersDescribe {
    type Answer = ScramUsers;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to.options(Op::RD_KAFKA_ADMIN_OP_DESCRIBEUSERSCRAMCREDENTIALS)?;
        let mut users = Names::new(self.users.iter().flatten(), "the user's name")?;
        // SAFETY: all are alive; the names, none for all users, are copied.
        unsafe {
            sys::rd_kafka_DescribeUserScramCredentials(
                to.rk(),
                users.as_mut_ptr(),
                users.len(),
                options.as_ptr(),
                to.queue.as_ptr(),
            );
        }
        Ok(())
    }

    fn answer(event: &Event) -> Option<ScramUsers> {
        let result = result_of(
            event,
            sys::rd_kafka_event_DescribeUserScramCredentials_result,
        )?;
        // SAFETY: the result and its elements are alive with the event.
        let users: Vec<_> = unsafe {
            listed(|n| sys::rd_kafka_DescribeUserScramCredentials_result_descriptions(result, n))
                .iter()
                .map(|user| described(*user))
                .collect()
        };
        Some(ScramUsers {
            failed: failed(&users),
            users,
        })
    }
}

/// # Safety
/// `user` is alive.
unsafe fn described(user: *const sys::rd_kafka_UserScramCredentialsDescription_t) -> ScramUser {
    // SAFETY: the user and its credentials are alive; what is taken is copied.
    unsafe {
        let count = sys::rd_kafka_UserScramCredentialsDescription_scramcredentialinfo_count(user);
        ScramUser {
            user: text_of(sys::rd_kafka_UserScramCredentialsDescription_user(user)),
            status: status(sys::rd_kafka_UserScramCredentialsDescription_error(user)),
            credentials: (0..count)
                .map(|i| {
                    let info =
                        sys::rd_kafka_UserScramCredentialsDescription_scramcredentialinfo(user, i);
                    ScramCredential {
                        mechanism: ScramMechanism::word(
                            sys::rd_kafka_ScramCredentialInfo_mechanism(info),
                        ),
                        iterations: sys::rd_kafka_ScramCredentialInfo_iterations(info),
                    }
                })
                .collect(),
        }
    }
}

type Alteration = Owned<sys::rd_kafka_UserScramCredentialAlteration_t>;

impl Ask for ScramUsersAlter {
    type Answer = ScramOutcomes;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to.options(Op::RD_KAFKA_ADMIN_OP_ALTERUSERSCRAMCREDENTIALS)?;
        let alterations = self
            .upsertions
            .iter()
            .map(upsertion)
            .chain(self.deletions.iter().map(deletion))
            .collect::<Result<Vec<_>, _>>()?;
        to.hand_over(
            sys::rd_kafka_AlterUserScramCredentials,
            &alterations,
            &options,
        );
        Ok(())
    }

    fn answer(event: &Event) -> Option<ScramOutcomes> {
        let result = result_of(event, sys::rd_kafka_event_AlterUserScramCredentials_result)?;
        // SAFETY: the result and its elements are alive with the event; texts are copied.
        let users: Vec<_> = unsafe {
            listed(|n| sys::rd_kafka_AlterUserScramCredentials_result_responses(result, n))
                .iter()
                .map(|user| ScramOutcome {
                    user: text_of(
                        sys::rd_kafka_AlterUserScramCredentials_result_response_user(*user),
                    ),
                    status: status(
                        sys::rd_kafka_AlterUserScramCredentials_result_response_error(*user),
                    ),
                })
                .collect()
        };
        Some(ScramOutcomes {
            failed: failed(&users),
            users,
        })
    }
}

fn mechanism(mechanism: ScramMechanism) -> sys::rd_kafka_ScramMechanism_t {
    match mechanism {
        ScramMechanism::Sha256 => sys::rd_kafka_ScramMechanism_t::RD_KAFKA_SCRAM_MECHANISM_SHA_256,
        ScramMechanism::Sha512 => sys::rd_kafka_ScramMechanism_t::RD_KAFKA_SCRAM_MECHANISM_SHA_512,
    }
}

fn upsertion(new: &ScramUpsertion) -> Result<Alteration, Error> {
    let user = c_string(&new.user, "the user's name")?;
    let password = new.password.reveal().as_bytes();
    let salt = new.salt_hex.as_ref().map_or(Some(Vec::new()), from_hex);
    let salt = salt
        .ok_or_else(|| Error::argument("a salt_hex is not an even number of hexadecimal digits"))?;
    // SAFETY: the name is terminated, the others have the given sizes (a salt of size 0 is not read); all
    // are copied.
    let made_of = unsafe {
        sys::rd_kafka_UserScramCredentialUpsertion_new(
            user.as_ptr(),
            mechanism(new.mechanism),
            new.iterations,
            password.as_ptr(),
            password.len(),
            salt.as_ptr(),
            salt.len(),
        )
    };
    made(made_of, sys::rd_kafka_UserScramCredentialAlteration_destroy)
}

fn deletion(old: &ScramDeletion) -> Result<Alteration, Error> {
    let user = c_string(&old.user, "the user's name")?;
    // SAFETY: the name is terminated and copied.
    let made_of = unsafe {
        sys::rd_kafka_UserScramCredentialDeletion_new(user.as_ptr(), mechanism(old.mechanism))
    };
    made(made_of, sys::rd_kafka_UserScramCredentialAlteration_destroy)
}

fn from_hex(digits: &Secret) -> Option<Vec<u8>> {
    let digit = |d: u8| u8::try_from(char::from(d).to_digit(16)?).ok();
    let pairs = digits.reveal().as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_salt_is_read_from_pairs_of_digits_only() {
        let read = |text: &str| {
            let secret: Secret = serde_json::from_value(text.into()).expect("a text");
            from_hex(&secret)
        };
        assert_eq!(read("00fFa1"), Some(vec![0, 255, 161]));
        assert_eq!(read("0"), None);
        assert_eq!(read("0g"), None);
        assert_eq!(read("+1"), None);
    }
}
