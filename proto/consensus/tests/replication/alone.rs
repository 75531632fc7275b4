//! Groups with one voter.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use sextant_consensus::{
    ConsensusConfig, Groups, NodeStore, OpenError, StoreError, StoreOptions, WriteError,
};
use sextant_proto::ids::{GroupId, NodeId};

use crate::ledger::{Ledger, put, rows_of};
use crate::mesh::{GROUP, Mesh, deadline};

#[tokio::test(flavor = "multi_thread")]
async fn leads_at_once_and_again_after_a_restart() {
    let mesh = Mesh::patient();
    let group = mesh.start_ledger(1).await;
    assert_eq!(group.initialize(&[NodeId(1)]).await, Ok(true));
    assert_eq!(group.initialize(&[NodeId(1)]).await, Ok(false));
    group.wait_leader(deadline()).await.unwrap();
    let mut last = None;
    for n in 0..50_u8 {
        let applied = group.write(put("n", &[n + 1])).await.unwrap();
        assert_eq!(applied.reply, if n == 0 { Vec::new() } else { vec![n] }, "reads see all earlier entries");
        assert!(last < Some(applied.index));
        last = Some(applied.index);
    }
    assert_eq!(group.applied_index(), last.unwrap());
    let before = rows_of(&group.view());
    mesh.stop(1).await;
    drop(group);

    let group = mesh.start_ledger(1).await;
    group.wait_leader(deadline()).await.unwrap();
    assert!(group.is_leader());
    let read = group.read_index().await.unwrap();
    assert!(read >= last.unwrap());
    assert!(group.wait_applied(read, deadline()).await.unwrap().applied >= read);
    assert_eq!(rows_of(&group.view()), before);
    assert_eq!(*group.machine().memory.lock().unwrap(), before);
    assert_eq!(group.write(put("n", &[99])).await.unwrap().reply, vec![50]);
    mesh.stop(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_groups_share_a_store_and_stay_apart() {
    let mesh = Mesh::patient();
    let groups = mesh.start(1).await;
    let mut opened = Vec::new();
    for id in [0, 1, 255, 256, u64::MAX] {
        let group = groups.open(GroupId(id), Arc::new(Ledger::default())).await.unwrap();
        group.initialize(&[NodeId(1)]).await.unwrap();
        group.wait_leader(deadline()).await.unwrap();
        opened.push(group);
    }
    let again = groups.open(GroupId(1), Arc::new(Ledger::default())).await;
    assert!(matches!(again, Err(OpenError::AlreadyOpen(GroupId(1)))));
    let writes = opened
        .iter()
        .enumerate()
        .flat_map(|(at, group)| (0..20).map(move |n| group.write(put(&format!("k{n}"), &[at as u8 + 1]))));
    for written in futures::future::join_all(writes).await {
        written.unwrap();
    }
    for (at, group) in opened.iter().enumerate() {
        let rows = rows_of(&group.view());
        assert_eq!(rows.len(), 20);
        assert!(rows.values().all(|value| *value == [at as u8 + 1]));
    }
    let listed: Vec<_> = groups.store().groups().unwrap().iter().map(|group| group.0).collect();
    assert_eq!(listed, [0, 1, 255, 256, u64::MAX]);
    mesh.stop(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn old_log_entries_go_and_a_restart_does_not_need_them() {
    let mesh =
        Mesh::with(ConsensusConfig { snapshot_every_entries: 20, keep_entries: 5, ..Mesh::patient().config });
    let group = mesh.start_ledger(1).await;
    group.initialize(&[NodeId(1)]).await.unwrap();
    group.wait_leader(deadline()).await.unwrap();
    for n in 0..100 {
        group.write(put(&format!("k{n}"), b"v")).await.unwrap();
    }
    crate::mesh::eventually("a purge", || group.status().purged.is_some_and(|index| index.0 > 50)).await;
    let before = rows_of(&group.view());
    mesh.stop(1).await;
    drop(group);
    let group = mesh.start_ledger(1).await;
    group.wait_leader(deadline()).await.unwrap();
    assert_eq!(rows_of(&group.view()), before);
    group.write(put("more", b"v")).await.unwrap();
    mesh.stop(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_are_told() {
    let mesh = Mesh::with(ConsensusConfig {
        max_command_bytes: 5000,
        in_flight_bytes: 6000,
        ..Mesh::patient().config
    });
    let group = mesh.start_ledger(1).await;
    assert!(matches!(group.write(put("a", b"b")).await, Err(WriteError::ForwardToLeader { leader: None })));
    group.initialize(&[NodeId(1)]).await.unwrap();
    group.wait_leader(deadline()).await.unwrap();
    let large = |len| Bytes::from(vec![0; len]);
    let refused = group.write(large(5001)).await;
    assert_eq!(refused, Err(WriteError::TooLarge { bytes: 5001, limit_bytes: 5000 }));
    // Both are polled once before either can be applied: the second finds the budget spent.
    let (first, second) = tokio::join!(group.write(large(5000)), group.write(large(5000)));
    first.unwrap();
    assert!(matches!(second, Err(WriteError::Overloaded { .. })));
    group.write(large(5000)).await.unwrap();
    mesh.stop(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_belongs_to_one_node() {
    let mesh = Mesh::patient();
    mesh.start(1).await;
    mesh.stop(1).await;
    std::fs::rename(mesh.path(1), mesh.path(2)).unwrap();
    let store = NodeStore::open(&mesh.path(2), &StoreOptions::default()).unwrap();
    let started = Groups::start(NodeId(2), store, Arc::new(NoWire), ConsensusConfig::default());
    assert!(matches!(
        started.err(),
        Some(OpenError::Store(StoreError::OtherNode { found: 1, wanted: 2, .. }))
    ));
}

struct NoWire;

impl sextant_consensus::RaftCarrier for NoWire {
    fn send(
        &self,
        target: NodeId,
        _group: GroupId,
        _call: sextant_consensus::RaftCall,
    ) -> futures::future::BoxFuture<'static, Result<Bytes, sextant_consensus::CarrierError>> {
        Box::pin(
            async move { Err(sextant_consensus::CarrierError::Unreachable(target, "no wire".to_owned())) },
        )
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Replies, rows, memory and a reopened store agree with a map.
    #[test]
    fn agrees_with_a_map(commands in proptest::collection::vec(("[ab]{0,3}", proptest::collection::vec(any::<u8>(), 0..3)), 1..40)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let mesh = Mesh::patient();
            let group = mesh.start_ledger(1).await;
            group.initialize(&[NodeId(1)]).await.unwrap();
            group.wait_leader(deadline()).await.unwrap();
            let mut oracle = BTreeMap::new();
            for (key, value) in commands {
                let reply = group.write(put(&key, &value)).await.unwrap().reply;
                let before = if value.is_empty() {
                    oracle.remove(key.as_bytes())
                } else {
                    oracle.insert(key.as_bytes().to_vec(), value)
                };
                assert_eq!(reply, before.unwrap_or_default());
            }
            assert_eq!(rows_of(&group.view()), oracle);
            assert_eq!(*group.machine().memory.lock().unwrap(), oracle);
            let last = group.view().last_with_prefix(b"a").unwrap();
            let wanted = oracle.iter().rfind(|(key, _)| key.starts_with(b"a"));
            assert_eq!(last, wanted.map(|(key, value)| (key.clone(), value.clone())));
            mesh.stop(1).await;
            drop(group);
            let group = mesh.start_ledger(1).await;
            assert_eq!(rows_of(&group.view()), oracle);
            assert_eq!(group.id(), GROUP);
            mesh.stop(1).await;
        });
    }
}
