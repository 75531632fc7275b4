//! The node's routes, over the in-memory carrier.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sextant_embed::EmbedService;
use sextant_proto::access::{Peer, Role};
use sextant_proto::embed::{EmbedRequest, Lane, ModelsRequest};
use sextant_proto::error::ErrorCode;
use sextant_transport::{Client, ClientOptions, Endpoint, Network, Server, ServerOptions};

use crate::nodes::request;

fn peer(role: Role) -> Peer {
    Peer { org: "org".into(), role, name: "test".into() }
}

#[tokio::test]
async fn clients_embed_and_other_roles_may_not() {
    let service = Arc::new(EmbedService::fake(384, 1).unwrap());
    let (network, addr) = (Network::new(), SocketAddr::from(([127, 0, 0, 1], 0)));
    let server =
        Server::in_memory(&network, addr, peer(Role::Embed), service.routes(), ServerOptions::default())
            .unwrap();
    let node = Endpoint { addr: server.local_addr(), role: Role::Embed };
    let client = |role| Client::in_memory(&network, peer(role), &ClientOptions::default());
    let wait = Duration::from_secs(20);
    let models = client(Role::Ci).call(&node, &ModelsRequest {}, wait).await.unwrap().models;
    assert_eq!(models, service.models().models);
    let asked = EmbedRequest { model: models[0].fingerprint, ..request(Lane::Query, ["open a file"]) };
    let reply = client(Role::Client).call(&node, &asked, wait).await.unwrap();
    assert_eq!(reply, service.embed(asked.clone()).await.unwrap());
    for role in [Role::Shard, Role::Coordinator, Role::Embed] {
        let error = client(role).call(&node, &asked, wait).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Forbidden, "{role:?}");
    }
}
