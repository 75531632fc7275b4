//! A state machine that cannot go on ends its group, loudly.

use bytes::Bytes;
use sextant_consensus::WriteError;
use sextant_proto::ids::NodeId;

use crate::ledger::{BREAK, PANIC, put};
use crate::mesh::{GROUP, Mesh, deadline};

async fn dies_of(command: &'static [u8], reason: &str) {
    let mesh = Mesh::patient();
    let group = mesh.start_ledger(1).await;
    group.initialize(&[NodeId(1)]).await.unwrap();
    group.wait_leader(deadline()).await.unwrap();
    group.write(put("a", b"1")).await.unwrap();
    let fatal = tokio::spawn(group.watch_fatal());
    let written = group.write(Bytes::from_static(command)).await;
    assert!(matches!(written, Err(WriteError::Stopped(_))), "{written:?}");
    let fatal = tokio::time::timeout_at(deadline(), fatal).await.unwrap().unwrap();
    assert_eq!(fatal.group, GROUP);
    assert!(fatal.reason.contains(reason), "{fatal}");
    mesh.stop(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_machine_is_fatal() {
    dies_of(BREAK, "told to break").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panicking_machine_is_fatal() {
    dies_of(PANIC, "ended early").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orderly_shutdown_is_not_fatal() {
    let mesh = Mesh::patient();
    let group = mesh.start_ledger(1).await;
    group.initialize(&[NodeId(1)]).await.unwrap();
    let fatal = group.watch_fatal();
    mesh.stop(1).await;
    let quiet = tokio::time::timeout(std::time::Duration::from_millis(100), fatal).await;
    assert!(quiet.is_err());
    assert!(matches!(group.write(put("a", b"1")).await, Err(WriteError::Stopped(_))));
}
