//! Owns the key layout of the node store. Knows nothing of what state machines keep behind their prefix.
//!
//! Every number is big-endian, so byte order is numeric order and one group's keys lie together.
//!
//! | family | key | value |
//! |---|---|---|
//! | `default` | `format` | decimal text, see [`FORMAT`] |
//! | `default` | `node` | the node id, 8 bytes |
//! | `raft` | group u64, tag u8 | one MessagePack record (state, vote, committed, purged) |
//! | `raft` | group u64, `TAG_LOG`, index u64 | one log entry, MessagePack |
//! | `data` | group u64, incarnation u64, the state machine's own key | the state machine's own value |
//!
//! The keys of `raft` carry no incarnation on purpose: a vote and a log must outlive the installation of a
//! snapshot, which replaces the data and nothing else.

use sextant_proto::ids::{GroupId, Incarnation};

/// The layout described above. A store with a greater number is refused.
pub(crate) const FORMAT: u32 = 1;
pub(crate) const FORMAT_KEY: &[u8] = b"format";
pub(crate) const NODE_KEY: &[u8] = b"node";

/// Incarnation, last applied log id and membership: one record, written with the data it describes.
pub(crate) const TAG_STATE: u8 = 1;
pub(crate) const TAG_VOTE: u8 = 2;
pub(crate) const TAG_COMMITTED: u8 = 3;
pub(crate) const TAG_PURGED: u8 = 4;
pub(crate) const TAG_LOG: u8 = 5;

/// Length of the prefix that a state machine's keys have in the `data` family.
pub(crate) const DATA_PREFIX_LEN: usize = 16;

pub(crate) fn record(group: GroupId, tag: u8) -> [u8; 9] {
    let mut key = [0; 9];
    key[..8].copy_from_slice(&group.0.to_be_bytes());
    key[8] = tag;
    key
}

pub(crate) fn log_entry(group: GroupId, index: u64) -> [u8; 17] {
    let mut key = [0; 17];
    key[..9].copy_from_slice(&record(group, TAG_LOG));
    key[9..].copy_from_slice(&index.to_be_bytes());
    key
}

/// The index in a log entry's key, if it is one.
#[cfg(test)]
fn log_index(key: &[u8]) -> Option<u64> {
    let index: [u8; 8] = key.get(9..)?.try_into().ok()?;
    (key[8] == TAG_LOG).then(|| u64::from_be_bytes(index))
}

/// The first key after every log entry of the group.
pub(crate) fn log_end(group: GroupId) -> [u8; 9] {
    record(group, TAG_LOG + 1)
}

pub(crate) fn data_prefix(group: GroupId, incarnation: Incarnation) -> [u8; DATA_PREFIX_LEN] {
    let mut key = [0; DATA_PREFIX_LEN];
    key[..8].copy_from_slice(&group.0.to_be_bytes());
    key[8..].copy_from_slice(&incarnation.0.to_be_bytes());
    key
}

/// The first key after every key that starts with `prefix`; none when the prefix is empty or all 0xFF.
pub(crate) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let kept = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut end = prefix[..=kept].to_vec();
    end[kept] += 1;
    Some(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn after_prefix_bounds_exactly_the_prefix(
            prefix in proptest::collection::vec(prop_oneof![Just(0xFF), Just(0), any::<u8>()], 0..6),
            key in proptest::collection::vec(prop_oneof![Just(0xFF), Just(0), any::<u8>()], 0..8),
        ) {
            let below_end = after_prefix(&prefix).is_none_or(|end| key < end);
            prop_assert_eq!(key >= prefix && below_end, key.starts_with(&prefix) || (prefix.iter().all(|b| *b == 0xFF) && key >= prefix));
        }

        #[test]
        fn log_keys_sort_by_group_then_index(a in any::<(u64, u64)>(), b in any::<(u64, u64)>()) {
            let key = |(group, index)| log_entry(GroupId(group), index);
            prop_assert_eq!(key(a).cmp(&key(b)), a.cmp(&b));
            prop_assert_eq!(log_index(&key(a)), Some(a.1));
        }
    }

    #[test]
    fn layout_is_frozen() {
        assert_eq!(record(GroupId(0x0102), TAG_VOTE), [0, 0, 0, 0, 0, 0, 1, 2, 2]);
        assert_eq!(log_entry(GroupId(3), 4), [0, 0, 0, 0, 0, 0, 0, 3, 5, 0, 0, 0, 0, 0, 0, 0, 4]);
        assert_eq!(data_prefix(GroupId(5), Incarnation(6)), [0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 6]);
    }
}
