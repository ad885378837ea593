//! Reading arguments, and requests without a broker.

use super::arguments::{nearest, parse};
use super::operations::{first_status, request};
use super::requests::{How, Requests};
use super::OPERATIONS;
use crate::client::events::{Events, Taken};
use crate::document as d;
use crate::error::Error;
use crate::record::{kabi_event_t, KABI_ERROR_OUTCOME_UNKNOWN, KABI_EVENT_REQUEST};
use crate::status::{KABI_STATUS_ARGUMENT, KABI_STATUS_INTERRUPTED, KABI_STATUS_NOENT};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn message(operation: &str, json: &str) -> String {
    let error = request(operation, json).err().expect("refused");
    assert_eq!(error.code, KABI_STATUS_ARGUMENT);
    error.message
}

#[test]
fn every_operation_refuses_what_is_not_its_document() {
    for operation in OPERATIONS {
        for json in ["", "[", "17", "\"x\"", "{\"no_such_field\":1}", "{}}"] {
            let text = message(operation.name, json);
            assert!(text.starts_with(operation.name), "{text}");
        }
        let text = message(operation.name, "{\"no_such_field\":1}");
        assert!(
            text.contains("at no_such_field: unknown field `no_such_field`"),
            "{text}"
        );
    }
}

#[test]
fn an_error_names_the_place_and_what_was_meant() {
    let text = message(
        "topics_create",
        "{\"topics\":[{\"topic\":\"a\"},{\"topic\":\"b\",\"replicaton\":1}]}",
    );
    assert!(text.contains("at topics[1].replicaton"), "{text}");
    assert!(text.contains("did you mean `replication`?"), "{text}");
    assert!(text.contains("(line 1, column "), "{text}");
    let text = message("acls_create", "{\"acls\":[{\"resource_type\":\"Topic\"}]}");
    assert!(text.contains("did you mean `topic`?"), "{text}");
    assert!(message("groups_lst", "{}").contains("did you mean \"groups_list\"?"));
    assert!(message("x", "{}").contains("there are: topics_create, "));
}

#[test]
fn a_secret_is_left_out_of_errors_wherever_it_stands() {
    for json in [
        "\"hidden\"",
        "{\"upsertions\":\"hidden\"}",
        "{\"upsertions\":[\"hidden, expected hidden\"]}",
        "{\"upsertions\":[{\"user\":1,\"password\":\"hidden\"}]}",
        "{\"upsertions\":[{\"user\":\"u\",\"mechanism\":\"SCRAM-SHA-256\",\"password\":[\"hidden\"]}]}",
    ] {
        let text = message("scram_users_alter", json);
        assert!(!text.contains("hidden"), "{text}");
    }
    let alter: d::ScramUsersAlter = parse(
        "{\"upsertions\":[{\"user\":\"u\",\"mechanism\":\"SCRAM-SHA-512\",\"password\":\"hidden\"}]}",
        true,
    )
    .expect("good");
    assert!(!format!("{alter:?}").contains("hidden"));
}

#[test]
fn the_nearest_name_is_near() {
    let names = || ["partitions", "replication", "topic"].into_iter();
    assert_eq!(nearest("partition", names()), Some("partitions"));
    assert_eq!(nearest("zzz", names()), None);
}

#[test]
fn filters_keep_absent_apart_from_any_and_empty() {
    let filter: d::AclsDescribe = parse("{}", false).expect("all");
    assert_eq!(filter.filter, d::AclFilter::default());
    assert!(parse::<d::AclsDelete>("{\"filters\":[{}]}", false).is_err());
    assert!(parse::<d::AclsDelete>("{\"filters\":[{\"resource_type\":\"any\"}]}", false).is_ok());
    assert!(parse::<d::AclsDelete>("{\"filters\":[{\"host\":\"\"}]}", false).is_err());
}

#[test]
fn a_status_is_found_in_its_document() {
    let document = "{\"topics\":[{\"topic\":\"t\",\"status\":{\"code\":36,\"name\":\"X\",\"text\":\"there\"}}]}";
    let status = first_status(document).expect("a status");
    assert_eq!((status.code, status.text.as_str()), (36, "there"));
    assert!(first_status("{\"topics\":[]}").is_err());
}

struct Desk {
    requests: Arc<Requests>,
    events: Arc<Events>,
}

fn desk(slots: usize) -> Desk {
    let events = Arc::new(Events::new(KABI_EVENT_REQUEST, slots));
    Desk {
        requests: Arc::new(Requests::new(Arc::clone(&events))),
        events,
    }
}

impl Desk {
    fn add(&self, how: How, ends_in: Duration) -> u64 {
        assert_eq!(self.events.slots().take(1), 1);
        self.requests
            .add(how, "test", |_| Ok(String::new()), Instant::now() + ends_in)
            .expect("a number")
    }

    fn fetch(&self, number: u64, wait: Duration) -> Result<String, Error> {
        let deadline = Some(Instant::now() + wait);
        self.requests
            .result(number, deadline, 0, |document| Ok(document.to_owned()))
    }
}

const LONG: Duration = Duration::from_secs(20);
const NOT_AT_ALL: Duration = Duration::ZERO;

#[test]
fn a_kept_outcome_stays_until_it_is_taken() {
    let desk = desk(1);
    let number = desk.add(How::Kept, LONG);
    assert!(desk.fetch(number, NOT_AT_ALL).is_err());
    desk.requests.settle(number, Ok("done".into()));
    let refused = desk.requests.result(number, None, -1, |_| {
        Err::<(), _>(Error::argument("no room"))
    });
    assert!(refused.is_err());
    assert_eq!(desk.fetch(number, NOT_AT_ALL).as_deref(), Ok("done"));
    let gone = desk.fetch(number, NOT_AT_ALL).expect_err("taken");
    assert_eq!(gone.code, KABI_STATUS_NOENT);
    assert_eq!(desk.events.slots().take(1), 1, "its slot is free again");
}

#[test]
fn a_failure_is_told_once_and_by_its_operation() {
    let desk = desk(1);
    let number = desk.add(How::Kept, LONG);
    desk.requests
        .settle(number, Err(Error::new(29, "not allowed")));
    let error = desk.fetch(number, NOT_AT_ALL).expect_err("refused");
    assert_eq!(
        (error.code, error.message.as_str()),
        (29, "test: not allowed")
    );
    assert_eq!(
        desk.fetch(number, NOT_AT_ALL).expect_err("gone").code,
        KABI_STATUS_NOENT
    );
}

#[test]
fn late_answers_of_dropped_requests_are_ignored() {
    let desk = desk(2);
    let number = desk.add(How::Kept, LONG);
    desk.requests.discard(number).expect("there");
    desk.requests.settle(number, Ok("late".into()));
    assert!(desk.requests.reader(number).is_none());
    assert!(desk.requests.discard(number).is_err());
    let overdue = desk.add(How::Kept, NOT_AT_ALL);
    let error = desk.fetch(overdue, LONG).expect_err("its time is over");
    assert_ne!(error.flags & KABI_ERROR_OUTCOME_UNKNOWN, 0);
    assert_eq!(desk.events.slots().take(2), 2);
}

#[test]
fn a_wake_and_a_refusal_end_waits() {
    let desk = desk(1);
    let number = desk.add(How::Kept, LONG);
    let waiting = {
        let requests = Arc::clone(&desk.requests);
        std::thread::spawn(move || requests.result(number, None, -1, |_| Ok(())))
    };
    while !waiting.is_finished() {
        desk.requests.wake();
        std::thread::yield_now();
    }
    let error = waiting.join().expect("no panic").expect_err("cut short");
    assert_eq!(error.code, KABI_STATUS_INTERRUPTED);
    desk.requests.refuse(Error::closed("admin"));
    let error = desk.fetch(number, LONG).expect_err("closed");
    assert_ne!(error.flags & KABI_ERROR_OUTCOME_UNKNOWN, 0);
    assert!(desk
        .requests
        .add(How::Kept, "test", |_| Ok(String::new()), Instant::now())
        .is_err());
}

#[test]
fn what_is_given_up_has_its_event_and_only_one() {
    let desk = desk(4);
    let first = desk.add(How::Event, LONG);
    let second = desk.add(How::Event, LONG);
    desk.requests.settle(first, Ok("{}".into()));
    desk.requests.settle(first, Ok("{}".into()));
    assert_eq!(desk.requests.unanswered(), 1);
    assert_eq!(desk.requests.give_up(&Error::closed("admin")), 1);
    desk.requests.settle(second, Ok("{}".into()));
    let mut events = [kabi_event_t::default(); 4];
    let mut bytes = [0; 4096];
    let mut taken = Taken::default();
    desk.events
        .drain(Some(Instant::now()), &mut events, &mut bytes, &mut taken)
        .expect("events");
    assert_eq!(taken.events, 2);
    assert_eq!((events[0].token, events[0].code), (first, 0));
    assert_eq!(events[1].token, second);
    assert_ne!(events[1].flags & KABI_ERROR_OUTCOME_UNKNOWN, 0);
    assert_eq!(desk.events.slots().take(4), 4);
}
