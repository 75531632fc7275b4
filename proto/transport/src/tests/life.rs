//! Time and load: cancellation, overload, reconnection, draining, many callers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::join_all;
use sextant_proto::access::Role;
use sextant_proto::error::ErrorCode;

use super::{Kind, LONG, Site, act, ask, endpoint, routes, until, within};
use crate::{ClientOptions, ServerOptions};

const BOTH: [Kind; 2] = [Kind::Quic, Kind::Memory];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_gives_up_ends_its_handler() {
    for kind in BOTH {
        let site = Site::new(kind);
        let (routes, seen, mut ended) = routes();
        let server = site.server(routes, ServerOptions::default());
        let client = site.client(Role::Shard, ClientOptions::default());
        let (to, request) = (endpoint(&server), ask(act::HOLD, b""));
        {
            let call = client.call(&to, &request, LONG);
            tokio::select! {
                _ = call => panic!("nobody released the handler"),
                () = seen.held() => {}
            }
        }
        within("the handler's end", ended.recv()).await.unwrap();
        // The connection is as good as before.
        let reply = client.call(&to, &ask(act::ECHO, b"again"), LONG).await.unwrap();
        assert_eq!(reply.body, b"again", "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_deadline_ends_the_handler() {
    for kind in BOTH {
        let site = Site::new(kind);
        let (routes, _seen, mut ended) = routes();
        // The server's own bound, with a caller that would wait longer.
        let options = ServerOptions { max_deadline: Duration::from_millis(100), ..ServerOptions::default() };
        let server = site.server(routes, options);
        let client = site.client(Role::Shard, ClientOptions::default());
        let error = client.call(&endpoint(&server), &ask(act::HOLD, b""), LONG).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::DeadlineExceeded, "{kind:?}");
        within("the handler's end", ended.recv()).await.unwrap();
    }
}

async fn overload(kind: Kind, options: ServerOptions) {
    let site = Site::new(kind);
    let (routes, seen, _ended) = routes();
    let server = site.server(routes, options);
    let client = site.client(Role::Shard, ClientOptions::default());
    let to = endpoint(&server);
    let holders: Vec<_> = (0..2)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.call(&to, &ask(act::HOLD, b""), LONG).await })
        })
        .collect();
    for _ in 0..2 {
        seen.held().await;
    }
    let error = client.call(&to, &ask(act::ECHO, b""), LONG).await.unwrap_err();
    assert_eq!((error.code, error.retry_after_ms), (ErrorCode::Overloaded, Some(70)), "{kind:?}");
    seen.release.add_permits(2);
    for held in join_all(holders).await {
        held.unwrap().unwrap();
    }
    // Places are free again once the replies have left.
    within("a free place", async {
        while client.call(&to, &ask(act::ECHO, b""), LONG).await.is_err() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_request_too_many_is_told_when_to_come_again() {
    for kind in BOTH {
        let base = ServerOptions { retry_after_ms: 70, ..ServerOptions::default() };
        overload(kind, ServerOptions { max_inflight: 2, ..base.clone() }).await;
        overload(kind, ServerOptions { max_streams: 2, ..base }).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_have_a_bound_over_all_requests() {
    for kind in BOTH {
        let site = Site::new(kind);
        let (routes, seen, _ended) = routes();
        let server =
            site.server(routes, ServerOptions { max_body_bytes: 8 << 20, ..ServerOptions::default() });
        let client = site.client(Role::Shard, ClientOptions::default());
        let to = endpoint(&server);
        let (holder, large) = (client.clone(), ask(act::HOLD, &vec![1; 5 << 20]));
        let held = tokio::spawn(async move { holder.call(&to, &large, LONG).await });
        seen.held().await;
        let error = client.call(&to, &ask(act::ECHO, &vec![1; 5 << 20]), LONG).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Overloaded, "{kind:?}: {error}");
        client.call(&to, &ask(act::ECHO, &vec![1; 1 << 20]), LONG).await.unwrap();
        seen.release.add_permits(1);
        held.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_finds_a_server_that_was_started_again() {
    for kind in BOTH {
        let site = Site::new(kind);
        let first = site.server(routes().0, ServerOptions::default());
        let connect_timeout = Duration::from_millis(300);
        let client = site.client(Role::Shard, ClientOptions { connect_timeout, ..ClientOptions::default() });
        let to = endpoint(&first);
        client.call(&to, &ask(act::ECHO, b"1"), LONG).await.unwrap();
        within("the end", first.shutdown(LONG)).await;
        let error = within("an answer", client.call(&to, &ask(act::ECHO, b"2"), LONG)).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Unavailable, "{kind:?}: {error}");
        let _second = site.server_at(to.addr, routes().0, ServerOptions::default());
        let reply = within("an answer", client.call(&to, &ask(act::ECHO, b"3"), LONG)).await.unwrap();
        assert_eq!(reply.body, b"3", "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_lets_requests_finish_and_takes_no_new_ones() {
    for kind in BOTH {
        let site = Site::new(kind);
        let (routes, seen, _ended) = routes();
        let server = site.server(routes, ServerOptions::default());
        let client = site.client(Role::Shard, ClientOptions::default());
        let to = endpoint(&server);
        let holder = client.clone();
        let held = tokio::spawn(async move { holder.call(&to, &ask(act::HOLD, b"kept"), LONG).await });
        seen.held().await;
        let end = tokio::spawn(server.shutdown(LONG));
        within("a refusal", async {
            loop {
                match client.call(&to, &ask(act::ECHO, b""), LONG).await {
                    Ok(_) => tokio::task::yield_now().await,
                    Err(error) => break assert_eq!(error.code, ErrorCode::ShuttingDown, "{kind:?}: {error}"),
                }
            }
        })
        .await;
        assert!(!end.is_finished());
        seen.release.add_permits(1);
        assert_eq!(held.await.unwrap().unwrap().body, b"kept");
        within("the end", end).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_server_ends_its_callers_at_once() {
    for kind in BOTH {
        let site = Site::new(kind);
        let (routes, seen, _ended) = routes();
        let server = site.server(routes, ServerOptions::default());
        let client = site.client(Role::Shard, ClientOptions::default());
        let to = endpoint(&server);
        let held = tokio::spawn(async move { client.call(&to, &ask(act::HOLD, b""), LONG * 2).await });
        seen.held().await;
        drop(server);
        let error = within("an answer", held).await.unwrap().unwrap_err();
        assert_eq!(error.code, ErrorCode::Unavailable, "{kind:?}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_calls_at_once_share_one_connection() {
    for kind in BOTH {
        let site = Site::new(kind);
        let server = site.server(routes().0, ServerOptions::default());
        let client = site.client(Role::Shard, ClientOptions::default());
        let to = endpoint(&server);
        let right = Arc::new(AtomicUsize::new(0));
        let calls = (0..1000u32).map(|number| {
            let (client, right) = (client.clone(), Arc::clone(&right));
            tokio::spawn(async move {
                let body = number.to_le_bytes().repeat(100);
                let reply = client.call(&to, &ask(act::ECHO, &body), LONG).await;
                if reply.is_ok_and(|reply| reply.body == body) {
                    right.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        within("all answers", join_all(calls)).await;
        assert_eq!(right.load(Ordering::Relaxed), 1000, "{kind:?}");
        if let Some(connections) = server.open_connections() {
            assert_eq!(connections, 1);
        }
        drop(client);
        until("the connection's end", || server.open_connections().unwrap_or(0) == 0).await;
    }
}
