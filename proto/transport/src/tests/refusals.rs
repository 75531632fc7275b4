//! Certificates, protocols and bytes that must be refused, each with one clear error.

use std::time::{Duration, SystemTime};

use quinn::{Connection, VarInt};
use sextant_proto::access::Role;
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::frame::{self, Header};
use sextant_proto::handshake::{ALPN, Handshake, PROTOCOL_VERSION};
use sextant_proto::message::{Route, decode, encode};

use super::{ANY, Kind, LONG, Site, act, ask, endpoint, routes, until, within};
use crate::{Client, ClientOptions, Endpoint, Identity, Server, ServerOptions, prelude, tls};

async fn refused(client: &Client, to: &Endpoint) -> WireError {
    within("a refusal", client.call(to, &ask(act::ECHO, b"x"), LONG)).await.unwrap_err()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_another_authority_is_refused_by_both_sides() {
    let (site, other) = (Site::new(Kind::Quic), Site::new(Kind::Quic));
    let server = site.server(routes().0, ServerOptions::default());
    // The stranger does not know this authority, so it is the one to refuse.
    let error = refused(&other.client(Role::Shard, ClientOptions::default()), &endpoint(&server)).await;
    assert_eq!(error.code, ErrorCode::Forbidden, "{error}");
    assert!(error.message.contains("is not accepted"), "{error}");
    // A stranger that trusts this authority is refused by the server, which shows only after the connection is open.
    let leaf = other.identity(Role::Shard);
    let root = site.identity(Role::Shard).root().clone();
    let pretender = Identity::from_der(root, leaf.chain(), leaf.key()).unwrap();
    let error =
        refused(&Client::new(&pretender, ClientOptions::default()).unwrap(), &endpoint(&server)).await;
    assert_eq!(error.code, ErrorCode::Forbidden, "{error}");
    assert!(error.message.contains("refused this side's certificate"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_out_of_their_time_are_refused_on_both_sides() {
    let site = Site::new(Kind::Quic);
    let hour = Duration::from_hours(1);
    let now = SystemTime::now();
    let issue = |from, to| site.authority.issue_between(Role::Shard, "late", from, to).unwrap();
    let expired = issue(now - hour * 2, now - hour);
    let early = issue(now + hour, now + hour * 2);
    let server = site.server(routes().0, ServerOptions::default());
    for identity in [&expired, &early] {
        let client = Client::new(identity, ClientOptions::default()).unwrap();
        let error = refused(&client, &endpoint(&server)).await;
        assert_eq!(error.code, ErrorCode::Forbidden, "{error}");
        assert!(error.message.contains("refused this side's certificate"), "{error}");
        let stale = Server::bind(ANY, identity, routes().0, ServerOptions::default()).unwrap();
        let client = site.client(Role::Shard, ClientOptions::default());
        let error = refused(&client, &endpoint(&stale)).await;
        assert_eq!(error.code, ErrorCode::Forbidden, "{error}");
        assert!(error.message.contains("is not accepted"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_protocol_is_refused() {
    let site = Site::new(Kind::Quic);
    let server = site.server(routes().0, ServerOptions::default());
    let client =
        Client::with_alpn(&site.identity(Role::Shard), ClientOptions::default(), b"sextant/2").unwrap();
    let error = refused(&client, &endpoint(&server)).await;
    assert_eq!(error.code, ErrorCode::VersionMismatch, "{error}");
}

/// A connection without the client's manners.
async fn raw(site: &Site, to: &Endpoint) -> Connection {
    let transport = tls::transport(LONG, 0, None).unwrap();
    let config = tls::client(&site.identity(Role::Shard), ALPN, transport).unwrap();
    let endpoint = quinn::Endpoint::client(ANY).unwrap();
    endpoint.connect_with(config, to.addr, crate::identity::TLS_NAME).unwrap().await.unwrap()
}

async fn raw_call(connection: &Connection, bytes: &[u8]) -> Vec<u8> {
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    // A server that refuses early stops the stream; its reply counts.
    let _ = send.write_all(bytes).await;
    let _ = send.finish();
    within("a reply", recv.read_to_end(1 << 20)).await.unwrap()
}

fn request(route: u16, body_len: u32, body: &[u8]) -> Vec<u8> {
    let header = Header { body_len, route }.encode();
    [&prelude::encode(LONG)[..], &header, body].concat()
}

fn hello() -> Vec<u8> {
    let handshake = Handshake { version: PROTOCOL_VERSION, program: String::new(), org_key: None };
    let body = encode(&handshake).unwrap();
    request(Route::Handshake as u16, body.len() as u32, &body)
}

fn error_of(reply: &[u8]) -> ErrorCode {
    let (header, body) = reply.split_first_chunk().unwrap();
    assert_eq!(Header::decode(*header).route, frame::REPLY_ERROR);
    decode::<WireError>(body).unwrap().code
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_break_the_frame_are_answered_and_harm_nobody() {
    let site = Site::new(Kind::Quic);
    let server = site.server(routes().0, ServerOptions::default());
    let connection = raw(&site, &endpoint(&server)).await;
    raw_call(&connection, &hello()).await;
    let raft = Route::Raft as u16;
    let good = encode(&ask(act::ECHO, b"x")).unwrap();
    let len = good.len() as u32;
    let cases: [(&str, Vec<u8>, ErrorCode); 9] = [
        ("a length of 4 GiB", request(raft, u32::MAX, b""), ErrorCode::TooLarge),
        ("a length over the route's", request(Route::ShardStatus as u16, 65_537, b""), ErrorCode::TooLarge),
        ("a route of nobody", request(9, 0, b""), ErrorCode::UnknownRoute),
        ("a route of another node", request(Route::Embed as u16, 0, b""), ErrorCode::UnknownRoute),
        ("a second handshake", hello(), ErrorCode::BadRequest),
        ("an end inside of the header", vec![1, 2, 3], ErrorCode::BadRequest),
        ("an end inside of the body", request(raft, len + 1, &good), ErrorCode::BadRequest),
        ("bytes behind the frame", request(raft, len - 1, &good), ErrorCode::BadRequest),
        ("a body that is no message", request(raft, 4, &[0xff; 4]), ErrorCode::BadRequest),
    ];
    for (name, bytes, expected) in cases {
        assert_eq!(error_of(&raw_call(&connection, &bytes).await), expected, "{name}");
    }
    let reply = raw_call(&connection, &request(raft, len, &good)).await;
    assert_eq!(Header::decode(*reply.first_chunk().unwrap()).route, frame::REPLY_OK);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_does_not_decode_is_not_quoted() {
    let site = Site::new(Kind::Quic);
    let server = site.server(routes().0, ServerOptions::default());
    let connection = raw(&site, &endpoint(&server)).await;
    raw_call(&connection, &hello()).await;
    let body = encode(&"canary-4711").unwrap();
    let reply = raw_call(&connection, &request(Route::Raft as u16, body.len() as u32, &body)).await;
    assert!(!reply.windows(6).any(|window| window == b"canary"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_request_must_be_a_handshake_of_this_version() {
    let site = Site::new(Kind::Quic);
    let server = site.server(routes().0, ServerOptions::default());
    let later = encode(&Handshake { version: 2, program: String::new(), org_key: None }).unwrap();
    for (bytes, expected) in [
        (request(Route::ShardStatus as u16, 0, b""), ErrorCode::BadRequest),
        (request(Route::Handshake as u16, later.len() as u32, &later), ErrorCode::VersionMismatch),
        (request(Route::Handshake as u16, 2, b"xx"), ErrorCode::BadRequest),
    ] {
        let connection = raw(&site, &endpoint(&server)).await;
        assert_eq!(error_of(&raw_call(&connection, &bytes).await), expected);
        within("the close", connection.closed()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_without_a_handshake_is_dropped() {
    let site = Site::new(Kind::Quic);
    let handshake_timeout = Duration::from_millis(300);
    let server = site.server(routes().0, ServerOptions { handshake_timeout, ..ServerOptions::default() });
    let connection = raw(&site, &endpoint(&server)).await;
    within("the close", connection.closed()).await;
    until("the connection's end", || server.open_connections() == Some(0)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_of_a_broken_server_are_refused() {
    let site = Site::new(Kind::Quic);
    let config =
        tls::server(&site.identity(Role::Shard), ALPN, tls::transport(LONG, 64, None).unwrap()).unwrap();
    let listening = quinn::Endpoint::server(config, ANY).unwrap();
    let to = Endpoint { addr: listening.local_addr().unwrap(), role: Role::Shard };
    let welcome = encode(&sextant_proto::handshake::HandshakeReply {
        version: PROTOCOL_VERSION,
        program: String::new(),
    })
    .unwrap();
    let replies = [
        frame::encode(frame::REPLY_OK, &welcome).unwrap().to_vec(),
        Header { body_len: u32::MAX, route: frame::REPLY_OK }.encode().to_vec(),
        Header { body_len: 0, route: 77 }.encode().to_vec(),
        frame::encode(frame::REPLY_ERROR, b"\xc1").unwrap().to_vec(),
        frame::encode(frame::REPLY_OK, b"\xc1").unwrap().to_vec(),
        vec![1, 2],
    ];
    let serving = tokio::spawn(async move {
        let connection = listening.accept().await.unwrap().await.unwrap();
        for reply in replies {
            let (mut send, mut recv) = connection.accept_bi().await.unwrap();
            recv.read_to_end(1 << 20).await.unwrap();
            send.write_all(&reply).await.unwrap();
            send.finish().unwrap();
        }
        connection.closed().await;
    });
    let client = site.client(Role::Shard, ClientOptions::default());
    for expected in [
        ErrorCode::TooLarge,
        ErrorCode::BadRequest,
        ErrorCode::Internal,
        ErrorCode::Internal,
        ErrorCode::BadRequest,
    ] {
        assert_eq!(refused(&client, &to).await.code, expected);
    }
    drop(client);
    within("the end", serving).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reset_stream_harms_nobody() {
    let site = Site::new(Kind::Quic);
    let (routes, _seen, _ended) = routes();
    let server = site.server(routes, ServerOptions::default());
    let connection = raw(&site, &endpoint(&server)).await;
    raw_call(&connection, &hello()).await;
    for _ in 0..50 {
        let (mut send, _recv) = connection.open_bi().await.unwrap();
        send.write_all(&request(Route::Raft as u16, 100, b"part")).await.unwrap();
        send.reset(VarInt::from_u32(9)).unwrap();
    }
    let good = encode(&ask(act::ECHO, b"x")).unwrap();
    let reply = raw_call(&connection, &request(Route::Raft as u16, good.len() as u32, &good)).await;
    assert_eq!(Header::decode(*reply.first_chunk().unwrap()).route, frame::REPLY_OK);
}
