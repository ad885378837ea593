//! What an assignment event tells of.

/// In an assignment event's code: the group gives the consumer these partitions.
pub const KABI_ASSIGNMENT_ASSIGN: i32 = 1;
/// In an assignment event's code: the group takes these partitions back. What is handled of them can
/// still be committed while a handler runs, and before kabi_consumer_assignment_apply().
pub const KABI_ASSIGNMENT_REVOKE: i32 = 2;
/// In an assignment event's code: the group has taken these partitions away already, because the consumer
/// was not heard of. Others may read them; commits of them fail.
pub const KABI_ASSIGNMENT_LOST: i32 = 3;
