//! A small state machine: named values, on disk and mirrored in memory, so that the two can be compared.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Mutex;

use bytes::Bytes;
use sextant_consensus::{ApplyContext, Changes, DataView, MachineError, Outcome, StateMachine};
use sextant_proto::ids::LogIndex;

pub(crate) type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) memory: Mutex<Rows>,
    pub(crate) loads: Mutex<Vec<u64>>,
    pub(crate) committed: Mutex<Vec<u64>>,
}

pub(crate) const BREAK: &[u8] = b"break";
pub(crate) const PANIC: &[u8] = b"panic";

/// `put(k, v)`; an empty value deletes. The reply is the value before.
pub(crate) fn put(key: &str, value: &[u8]) -> Bytes {
    let mut command = vec![key.len() as u8];
    command.extend_from_slice(key.as_bytes());
    command.extend_from_slice(value);
    Bytes::from(command)
}

pub(crate) fn rows_of(view: &DataView) -> Rows {
    let mut rows = Rows::new();
    view.scan_prefix(&[], |key, value| {
        rows.insert(key.to_vec(), value.to_vec());
        ControlFlow::Continue(())
    })
    .unwrap();
    rows
}

impl StateMachine for Ledger {
    type Effect = (Vec<u8>, Vec<u8>);

    fn load(&self, view: DataView) -> Result<(), MachineError> {
        self.loads.lock().unwrap().push(view.incarnation().0);
        *self.memory.lock().unwrap() = rows_of(&view);
        Ok(())
    }

    fn apply(
        &self,
        context: &ApplyContext<'_>,
        command: &[u8],
        changes: &mut Changes<'_>,
    ) -> Result<Outcome<Self::Effect>, MachineError> {
        assert_ne!(command, PANIC, "told to panic");
        if command == BREAK {
            return Err(MachineError::Broken("told to break".to_owned()));
        }
        let (key, value) = command[1..].split_at(usize::from(command[0]));
        let before = context.view.get(key)?.unwrap_or_default();
        if value.is_empty() {
            changes.delete(key);
        } else {
            changes.put(key, value);
        }
        Ok(Outcome { reply: before, effect: (key.to_vec(), value.to_vec()) })
    }

    fn committed(&self, index: LogIndex, (key, value): Self::Effect) {
        self.committed.lock().unwrap().push(index.0);
        let mut memory = self.memory.lock().unwrap();
        if value.is_empty() {
            memory.remove(&key);
        } else {
            memory.insert(key, value);
        }
    }
}
