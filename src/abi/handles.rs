//! Handles and what they stand for: one table for the whole process, and the step from a pointer that
//! was never one to the object behind it.

use super::handlers::Handlers;
use super::openable::Openable;
use crate::client::admin::Admin;
use crate::client::cluster::Cluster;
use crate::client::config::Config;
use crate::client::consumer::{Consumer, HeldBatch};
use crate::client::events::Events;
use crate::client::lifetime::{lock, Control};
use crate::client::producer::Producer;
use crate::client::threads;
use crate::error::{Error, Result};
use crate::handle::{Guard, Kind, Mode, Refusal, Reserved, Table};
use crate::rd::fork;
use crate::record::{
    kabi_admin_t, kabi_batch_t, kabi_cluster_t, kabi_config_t, kabi_consumer_t, kabi_producer_t,
};
use crate::status::{
    KABI_STATUS_CLOSED, KABI_STATUS_FORKED, KABI_STATUS_HANDLE, KABI_STATUS_SYSTEM,
    KABI_STATUS_WRONG_TYPE,
};
use std::marker::PhantomData;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Instant;

pub struct ConfigObject {
    pub state: Mutex<ConfigState>,
}

#[derive(Default)]
pub struct ConfigState {
    pub config: Config,
    pub handlers: Handlers,
}

/// What a client keeps after its close, for who drains its events.
pub struct Always {
    pub events: Arc<Events>,
    pub control: Arc<Control>,
    /// Shared with what runs inside a poll, which doesn't keep them alive.
    pub handlers: Arc<Handlers>,
    /// What the close that is done reported.
    pub undelivered: AtomicU64,
    /// The open part was taken out. Locked by who looks at it without a guard of its own.
    pub taking: Mutex<bool>,
}

impl Always {
    pub fn new(
        events: &Arc<Events>,
        control: &Arc<Control>,
        handlers: impl Into<Arc<Handlers>>,
    ) -> Always {
        Always {
            events: Arc::clone(events),
            control: Arc::clone(control),
            handlers: handlers.into(),
            undelivered: AtomicU64::new(0),
            taking: Mutex::default(),
        }
    }
}

pub struct ClientObject<T: Client> {
    pub open: Openable<T>,
    pub always: Always,
}

/// A client that a handle stands for.
pub trait Client: Sized + Send + Sync + 'static {
    /// Ends what a free without a close finds open. Does not block.
    fn abandon(self);
    fn events(&self) -> &Events;
}

impl Client for Producer {
    fn abandon(self) {
        Producer::abandon(self);
    }

    fn events(&self) -> &Events {
        Producer::events(self)
    }
}

impl Client for Consumer {
    fn abandon(self) {
        Consumer::abandon(self);
    }

    fn events(&self) -> &Events {
        Consumer::events(self)
    }
}

impl Client for Admin {
    fn abandon(self) {
        Admin::abandon(self);
    }

    fn events(&self) -> &Events {
        Admin::events(self)
    }
}

impl<T: Client> Drop for ClientObject<T> {
    fn drop(&mut self) {
        if let Some(open) = self.open.take_mut() {
            open.abandon();
        }
    }
}

// Few at a time, each in a slot of its own: indirection would cost each call more than it saves.
#[allow(clippy::large_enum_variant)]
pub enum Object {
    Config(ConfigObject),
    Producer(ClientObject<Producer>),
    Consumer(ClientObject<Consumer>),
    Admin(ClientObject<Admin>),
    Batch(HeldBatch),
    Cluster(Cluster),
}

static TABLE: Table<Object> = Table::new();

/// A C type that handles of one kind have.
pub trait HandleType {
    const KIND: Kind;
    const NOUN: &'static str;
    type Object: 'static;
    fn of(object: &Object) -> Option<&Self::Object>;
}

macro_rules! handle_types {
    ($($c_type:ty, $number:literal, $noun:literal, $variant:ident, $object:ty;)*) => { $(
        impl HandleType for $c_type {
            const KIND: Kind = Kind::of::<$number>();
            const NOUN: &'static str = $noun;
            type Object = $object;
            #[inline]
            fn of(object: &Object) -> Option<&$object> {
                match object {
                    Object::$variant(inner) => Some(inner),
                    _ => None,
                }
            }
        }
    )* };
}

handle_types! {
    kabi_config_t, 0xc1, "config", Config, ConfigObject;
    kabi_producer_t, 0xc2, "producer", Producer, ClientObject<Producer>;
    kabi_consumer_t, 0xc3, "consumer", Consumer, ClientObject<Consumer>;
    kabi_batch_t, 0xc4, "batch", Batch, HeldBatch;
    kabi_cluster_t, 0xc5, "cluster", Cluster, Cluster;
    kabi_admin_t, 0xc6, "admin", Admin, ClientObject<Admin>;
}

pub type Inside = Guard<'static, Object>;

/// Runs `body` on the object behind a handle, which stays while it runs.
#[inline]
pub fn with<T: HandleType, R>(
    handle: *mut T,
    mode: Mode,
    body: impl FnOnce(&T::Object, &Inside) -> Result<R>,
) -> Result<R> {
    let guard = TABLE
        .enter(handle as u64, T::KIND, mode)
        .map_err(|refusal| refused(refusal, T::NOUN, handle.is_null()))?;
    // The table's kinds and the variants go together, so the second half never happens.
    let object = T::of(&guard).ok_or_else(|| refused(Refusal::WrongType, T::NOUN, false))?;
    body(object, &guard)
}

/// Runs `body` on an open client.
#[inline]
pub fn with_open<T, C, R>(handle: *mut T, body: impl FnOnce(&C, &Always) -> Result<R>) -> Result<R>
where
    T: HandleType<Object = ClientObject<C>>,
    C: Client,
{
    with(handle, Mode::Open, |object, _guard| {
        // SAFETY: the guard is an open one of this very object and outlives the body.
        let open = unsafe { object.open.get() };
        body(open.ok_or_else(|| Error::closed(T::NOUN))?, &object.always)
    })
}

#[cold]
fn refused(refusal: Refusal, noun: &str, null: bool) -> Error {
    let (code, why) = match refusal {
        Refusal::Unknown if null => (KABI_STATUS_HANDLE, format!("the {noun} handle is NULL")),
        Refusal::Unknown => (
            KABI_STATUS_HANDLE,
            format!("the {noun} handle is not one: never given out, or freed already"),
        ),
        Refusal::Closed => (KABI_STATUS_CLOSED, format!("the {noun} is closed")),
        Refusal::WrongType => (
            KABI_STATUS_WRONG_TYPE,
            format!("the handle is not one of a {noun}, but of another type"),
        ),
        Refusal::Forked => (
            KABI_STATUS_FORKED,
            format!(
                "the {noun} is from before a fork and lives in the parent only: make a new one"
            ),
        ),
    };
    Error::new(code, why)
}

/// Closes a client's handle and takes the open part out, once no call is inside: `Some(None)` if another
/// close did already, `None` if calls are still inside at the deadline. `begin` makes calls that wait
/// give up.
pub fn take_open<C: Client>(
    object: &ClientObject<C>,
    guard: &Inside,
    deadline: Option<Instant>,
    begin: impl FnOnce(&C),
) -> Option<Option<C>> {
    {
        let taking = lock(&object.always.taking);
        if *taking {
            return Some(None);
        }
        // SAFETY: whoever takes the open part out holds this lock.
        if let Some(open) = unsafe { object.open.get() } {
            Guard::close(guard);
            begin(open);
        }
    }
    if !Guard::wait_idle(guard, deadline) {
        return None;
    }
    let mut taking = lock(&object.always.taking);
    if std::mem::replace(&mut *taking, true) {
        return Some(None);
    }
    // SAFETY: closed, idle, and under the lock.
    Some(unsafe { object.open.take() })
}

/// Frees a client's handle; calls in progress give up.
pub fn free_client<T, C>(handle: *mut T, begin: impl FnOnce(&C))
where
    T: HandleType<Object = ClientObject<C>>,
    C: Client,
{
    if handle.is_null() {
        return;
    }
    let _ = with(handle, Mode::Open, |object, guard| {
        // SAFETY: the guard is an open one of this very object.
        if let Some(open) = unsafe { object.open.get() } {
            Guard::close(guard);
            // Waits for events end too, which a close lets go on to the last one.
            open.events().abandon();
            begin(open);
        }
        Ok(())
    });
    remove(handle);
}

/// A handle for an object that is yet to come, given back unless it does.
pub struct Place<T> {
    reserved: Reserved<'static, Object>,
    handle: PhantomData<*mut T>,
}

impl<T: HandleType> Place<T> {
    /// Takes an object in. The handle crosses as a pointer.
    pub fn fill(self, object: Object) -> *mut T {
        self.reserved.fill(T::KIND, object) as *mut T
    }
}

/// Sees to it that there is a handle, before something is done that can't be taken back.
pub fn reserve<T: HandleType>() -> Result<Place<T>> {
    watch_forks()?;
    let full = |_| {
        Error::new(
            KABI_STATUS_SYSTEM,
            "no handle is left: free some that are not needed any more",
        )
    };
    #[cfg(feature = "test-hooks")]
    if super::test_hooks::no_handle_is_left() {
        return Err(full(crate::handle::Full));
    }
    Ok(Place {
        reserved: TABLE.reserve().map_err(full)?,
        handle: PhantomData,
    })
}

/// Takes an object in. The handle crosses as a pointer.
pub fn insert<T: HandleType>(object: Object) -> Result<*mut T> {
    Ok(reserve()?.fill(object))
}

/// Makes a handle stale. NULL, stale and foreign ones are left alone, as every free promises.
pub fn remove<T: HandleType>(handle: *mut T) {
    if !handle.is_null() {
        let _ = TABLE.remove(handle as u64, T::KIND);
    }
}

/// Makes all handles of a type stale.
pub fn remove_all<T: HandleType>() {
    for handle in TABLE.handles(Some(T::KIND)) {
        remove(handle as *mut T);
    }
}

/// How many handles of all types there are.
pub fn alive() -> usize {
    TABLE.alive()
}

/// Frees every admin, producer and consumer.
pub fn free_all_clients() {
    for handle in TABLE.handles(Some(kabi_admin_t::KIND)) {
        free_client(handle as *mut kabi_admin_t, Admin::begin_close);
    }
    for handle in TABLE.handles(Some(kabi_producer_t::KIND)) {
        free_client(handle as *mut kabi_producer_t, Producer::begin_close);
    }
    for handle in TABLE.handles(Some(kabi_consumer_t::KIND)) {
        free_client(handle as *mut kabi_consumer_t, Consumer::begin_close);
    }
}

/// Frees a cluster; calls that wait give up.
pub fn free_cluster(handle: *mut kabi_cluster_t) {
    if !handle.is_null() {
        let _ = with(handle, Mode::Any, |cluster: &Cluster, _| {
            cluster.begin_end();
            Ok(())
        });
        remove(handle);
    }
}

/// Frees every cluster.
pub fn free_all_clusters() {
    for handle in TABLE.handles(Some(kabi_cluster_t::KIND)) {
        free_cluster(handle as *mut kabi_cluster_t);
    }
}

/// Handles of before a fork are refused in the child.
fn watch_forks() -> Result<()> {
    fork::watch(|| {
        TABLE.mark_forked();
        threads::after_fork();
    })
}
