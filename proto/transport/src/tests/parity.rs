//! The same table on both carriers.

use std::time::Duration;

use sextant_proto::access::Role;
use sextant_proto::embed::ModelsRequest;
use sextant_proto::error::ErrorCode;
use sextant_proto::ids::{GroupId, OrgKeyId};
use sextant_proto::shard::ShardStatus;

use super::{Kind, LONG, Site, act, ask, endpoint, routes, within};
use crate::{ClientOptions, Endpoint, Routes, ServerOptions, TransportError};

/// Name, request, role of the caller, time, and what comes back.
type Row = (&'static str, (u8, Vec<u8>), Role, Duration, Result<Vec<u8>, ErrorCode>);

fn table() -> Vec<Row> {
    let million = vec![7; 1 << 20];
    let ms = Duration::from_millis;
    vec![
        ("echo", (act::ECHO, b"hello".to_vec()), Role::Shard, LONG, Ok(b"hello".to_vec())),
        ("empty body", (act::ECHO, Vec::new()), Role::Coordinator, LONG, Ok(Vec::new())),
        ("a body of many packets", (act::ECHO, million.clone()), Role::Shard, LONG, Ok(million)),
        ("name", (act::NAME, vec![]), Role::Shard, LONG, Ok(b"spiffe://acme/shard/tester".to_vec())),
        ("wrong role", (act::ECHO, vec![]), Role::Client, LONG, Err(ErrorCode::Forbidden)),
        ("error of the handler", (act::FAIL, vec![]), Role::Shard, LONG, Err(ErrorCode::Behind)),
        ("panic", (act::PANIC, vec![]), Role::Shard, LONG, Err(ErrorCode::Internal)),
        ("reply too large", (act::HUGE, vec![]), Role::Shard, LONG, Err(ErrorCode::TooLarge)),
        ("request too large", (act::ECHO, vec![0; 9 << 20]), Role::Shard, LONG, Err(ErrorCode::TooLarge)),
        ("too slow", (act::HOLD, vec![]), Role::Shard, ms(200), Err(ErrorCode::DeadlineExceeded)),
        ("no time at all", (act::ECHO, vec![]), Role::Shard, ms(0), Err(ErrorCode::DeadlineExceeded)),
    ]
}

async fn run_table(kind: Kind) {
    let site = Site::new(kind);
    let server = site.server(routes().0, ServerOptions::default());
    for (name, (what, body), role, time, expected) in table() {
        let client = site.client(role, ClientOptions::default());
        let got = within(name, client.call(&endpoint(&server), &ask(what, &body), time)).await;
        let got = got.map(|reply| reply.body).map_err(|error| error.code);
        assert!(got == expected, "{kind:?}, {name}: {:?}", got.map(|body| body.len()));
    }
    let client = site.client(Role::Client, ClientOptions::default());
    let reply = client.call(&endpoint(&server), &ShardStatus { group: GroupId(9) }, LONG).await.unwrap();
    assert_eq!(reply.mark.group, GroupId(9));
    let unknown = client.call(&endpoint(&server), &ModelsRequest {}, LONG).await.unwrap_err();
    assert_eq!(unknown.code, ErrorCode::UnknownRoute);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quic_answers_the_table() {
    run_table(Kind::Quic).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_answers_the_table() {
    run_table(Kind::Memory).await;
}

async fn keys(kind: Kind) {
    let site = Site::new(kind);
    let options = ServerOptions { org_key: Some(OrgKeyId([1; 32])), ..ServerOptions::default() };
    let server = site.server(routes().0, options);
    let status = ShardStatus { group: GroupId(1) };
    for (key, role, expected) in [
        (Some([1; 32]), Role::Client, Ok(())),
        (Some([2; 32]), Role::Client, Err(ErrorCode::WrongOrgKey)),
        (None, Role::Client, Err(ErrorCode::WrongOrgKey)),
        // Nodes hold no key.
        (None, Role::Shard, Err(ErrorCode::Forbidden)),
        (Some([2; 32]), Role::Shard, Err(ErrorCode::WrongOrgKey)),
    ] {
        let options = ClientOptions { org_key: key.map(OrgKeyId), ..ClientOptions::default() };
        let client = site.client(role, options);
        let got = within("an answer", client.call(&endpoint(&server), &status, LONG)).await;
        assert_eq!(got.map(|_| ()).map_err(|error| error.code), expected, "{kind:?} {key:?} {role:?}");
    }
}

#[tokio::test]
async fn organisation_keys_are_checked_over_quic() {
    keys(Kind::Quic).await;
}

#[tokio::test]
async fn organisation_keys_are_checked_in_memory() {
    keys(Kind::Memory).await;
}

#[tokio::test]
async fn a_server_of_another_role_gets_no_request() {
    for kind in [Kind::Quic, Kind::Memory] {
        let site = Site::new(kind);
        let server = site.server(routes().0, ServerOptions::default());
        let client = site.client(Role::Shard, ClientOptions::default());
        let to = Endpoint { addr: server.local_addr(), role: Role::Embed };
        let error = within("an answer", client.call(&to, &ask(act::ECHO, b"x"), LONG)).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Forbidden, "{kind:?}");
        assert!(error.message.contains("not a embed"), "{error}");
    }
}

#[tokio::test]
async fn nobody_there_is_unavailable() {
    for kind in [Kind::Quic, Kind::Memory] {
        let site = Site::new(kind);
        let connect_timeout = Duration::from_millis(300);
        let client = site.client(Role::Shard, ClientOptions { connect_timeout, ..ClientOptions::default() });
        // A socket that never answers.
        let silent = std::net::UdpSocket::bind(super::ANY).unwrap();
        let to = Endpoint { addr: silent.local_addr().unwrap(), role: Role::Shard };
        let error = within("an answer", client.call(&to, &ask(act::ECHO, b"x"), LONG)).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Unavailable, "{kind:?}: {error}");
        assert!(error.is_retryable());
    }
}

#[tokio::test]
async fn a_route_has_one_handler() {
    let site = Site::new(Kind::Memory);
    let twice = routes().0.merge(routes().0);
    let error = twice.validate().unwrap_err();
    assert!(matches!(error, TransportError::DuplicateRoute(_)), "{error}");
    let bound = crate::Server::bind(super::ANY, &site.identity(Role::Shard), twice, ServerOptions::default());
    assert!(matches!(bound, Err(TransportError::DuplicateRoute(_))));
    assert!(routes().0.merge(Routes::new()).validate().is_ok());
}
