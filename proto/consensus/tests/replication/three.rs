//! Groups with three voters.

use std::sync::atomic::Ordering;
use std::time::Duration;

use sextant_consensus::{ConsensusConfig, Group, WriteError};
use sextant_proto::ids::NodeId;
use tokio::time::Instant;

use crate::ledger::{Ledger, put, rows_of};
use crate::mesh::{Mesh, deadline, eventually};

type Replicas = Vec<(u64, Group<Ledger>)>;

fn quick() -> ConsensusConfig {
    ConsensusConfig {
        heartbeat_ms: 200,
        election_min_ms: 600,
        election_max_ms: 1200,
        ..ConsensusConfig::default()
    }
}

async fn three(mesh: &Mesh) -> Replicas {
    let mut replicas = Vec::new();
    for node in 1..=3 {
        replicas.push((node, mesh.start_ledger(node).await));
    }
    replicas[0].1.initialize(&[NodeId(1), NodeId(2), NodeId(3)]).await.unwrap();
    replicas
}

/// Writes through whichever replica leads, as a client would.
async fn write(replicas: &Replicas, key: &str, value: &[u8]) {
    let deadline = deadline();
    loop {
        for (_, group) in replicas {
            match tokio::time::timeout(Duration::from_secs(5), group.write(put(key, value))).await {
                Ok(Ok(_)) => return,
                Ok(Err(WriteError::ForwardToLeader { .. })) | Err(_) => {}
                Ok(Err(error)) => panic!("{error}"),
            }
        }
        assert!(Instant::now() < deadline, "nobody leads");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn converged(replicas: &Replicas) {
    eventually("all replicas equal", || {
        let rows: Vec<_> = replicas.iter().map(|(_, group)| rows_of(&group.view())).collect();
        let memories: Vec<_> =
            replicas.iter().map(|(_, group)| group.machine().memory.lock().unwrap().clone()).collect();
        rows.iter().chain(&memories).all(|other| *other == rows[0])
    })
    .await;
}

fn leader_at(replicas: &Replicas) -> Option<usize> {
    replicas.iter().position(|(_, group)| group.is_leader())
}

async fn leader(replicas: &Replicas) -> usize {
    eventually("a leader", || leader_at(replicas).is_some()).await;
    leader_at(replicas).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn outlives_its_leader_and_takes_it_back() {
    let mesh = Mesh::with(quick());
    let mut replicas = three(&mesh).await;
    for n in 0..20 {
        write(&replicas, &format!("before{n}"), b"1").await;
    }
    let (dead, group) = replicas.remove(leader(&replicas).await);
    mesh.stop(dead).await;
    drop(group);
    for n in 0..20 {
        write(&replicas, &format!("after{n}"), b"2").await;
    }
    assert_ne!(replicas[leader(&replicas).await].0, dead);

    replicas.push((dead, mesh.start_ledger(dead).await));
    converged(&replicas).await;
    assert_eq!(rows_of(&replicas[0].1.view()).len(), 40);
    for node in 1..=3 {
        mesh.stop(node).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minority_acknowledges_nothing() {
    let mesh = Mesh::with(quick());
    let mut replicas = three(&mesh).await;
    write(&replicas, "shared", b"1").await;
    let (cut, lonely) = replicas.remove(leader(&replicas).await);
    mesh.isolate(cut);
    let pending = tokio::spawn({
        let lonely = lonely.clone();
        async move { lonely.write(put("lost", b"x")).await }
    });
    // The majority elects one of its own and goes on.
    write(&replicas, "kept", b"2").await;
    assert!(lonely.read_index().await.is_err(), "no quorum, no linearizable read");
    mesh.rejoin(cut);
    // The lonely leader's entry conflicts and is dropped; its writer is told.
    assert!(pending.await.unwrap().is_err());
    replicas.push((cut, lonely));
    converged(&replicas).await;
    let rows = rows_of(&replicas[2].1.view());
    assert_eq!(rows.keys().map(Vec::as_slice).collect::<Vec<_>>(), [&b"kept"[..], b"shared"]);
    for node in 1..=3 {
        mesh.stop(node).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wiped_follower_comes_back_by_snapshot() {
    let mesh = Mesh::with(ConsensusConfig { snapshot_every_entries: 10, keep_entries: 1, ..quick() });
    let mut replicas = three(&mesh).await;
    for n in 0..40_u8 {
        // Over 2 MiB in all, so that the snapshot needs several frames, each holding several rows.
        write(&replicas, &format!("k{n}"), &vec![n + 1; 60_000]).await;
    }
    let at = leader(&replicas).await;
    let follower = (at + 1) % 3;
    let (lost, group) = replicas.remove(follower);
    let stays: Vec<_> = replicas.iter().map(|(node, _)| NodeId(*node)).collect();
    let everyone: Vec<_> = stays.iter().copied().chain([NodeId(lost)]).collect();
    mesh.stop(lost).await;
    drop(group);
    let leading = replicas[leader(&replicas).await].1.clone();
    leading.change_voters(&stays).await.unwrap();
    leading.compact().await.unwrap();
    eventually("a purge", || leading.status().purged.is_some_and(|index| index.0 > 20)).await;
    // Opening it proves that nobody writes there any more.
    drop(mesh.open_store(lost).await);
    std::fs::remove_dir_all(mesh.path(lost)).unwrap();

    let back = mesh.start_ledger(lost).await;
    leading.add_learner(NodeId(lost)).await.unwrap();
    leading.change_voters(&everyone).await.unwrap();
    replicas.push((lost, back));
    write(&replicas, "late", b"1").await;
    converged(&replicas).await;
    let back = &replicas[2].1;
    assert_eq!(rows_of(&back.view()).len(), 41);
    assert!(back.position().incarnation.0 > 1, "it came by snapshot: {:?}", back.position());
    let loads = back.machine().loads.lock().unwrap().clone();
    assert_eq!(loads.first(), Some(&1));
    assert_eq!(loads.last(), Some(&back.position().incarnation.0));
    assert!(mesh.largest_call.load(Ordering::Relaxed) < (2 << 20), "bounded frames");

    // The installed state survives a restart, the old incarnation is gone.
    let expected = rows_of(&replicas[0].1.view());
    let (_, group) = replicas.remove(2);
    mesh.stop(lost).await;
    drop(group);
    replicas.push((lost, mesh.start_ledger(lost).await));
    converged(&replicas).await;
    assert_eq!(rows_of(&replicas[2].1.view()), expected);
    for node in 1..=3 {
        mesh.stop(node).await;
    }
}
