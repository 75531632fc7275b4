//! Gives bytes to the frame header and to the request and reply decoder of every route.
//!
//! `cargo +nightly fuzz run decode` in `proto/`. A finding goes into `proto/tests/wire/decode.rs` as a fixed case.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sextant_proto::coordinator::{
    ClusterStatus, DropView, MissingKeys, OpenCollection, Publish, Seal, Search, SetBranch, Stage,
};
use sextant_proto::embed::{EmbedRequest, ModelsRequest};
use sextant_proto::error::WireError;
use sextant_proto::frame::{HEADER_BYTES, Header};
use sextant_proto::handshake::Handshake;
use sextant_proto::message::{Request, Route, decode, encode};
use sextant_proto::raft::RaftRequest;
use sextant_proto::shard::{
    ShardDropView, ShardMissingKeys, ShardOpenGroup, ShardPublish, ShardSeal, ShardSearch, ShardStage,
    ShardStatus,
};

/// What decodes must encode, and decode again.
fn both<R: Request>(body: &[u8]) {
    if let Ok(request) = decode::<R>(body) {
        let again = encode(&request).expect("a decoded request encodes");
        assert!(decode::<R>(&again).is_ok());
    }
    if let Ok(reply) = decode::<R::Reply>(body) {
        let again = encode(&reply).expect("a decoded reply encodes");
        assert!(decode::<R::Reply>(&again).is_ok());
    }
}

fn as_route(route: Route, body: &[u8]) {
    match route {
        Route::Handshake => both::<Handshake>(body),
        Route::Embed => both::<EmbedRequest>(body),
        Route::Models => both::<ModelsRequest>(body),
        Route::OpenCollection => both::<OpenCollection>(body),
        Route::ClusterStatus => both::<ClusterStatus>(body),
        Route::MissingKeys => both::<MissingKeys>(body),
        Route::Publish => both::<Publish>(body),
        Route::Stage => both::<Stage>(body),
        Route::Seal => both::<Seal>(body),
        Route::SetBranch => both::<SetBranch>(body),
        Route::DropView => both::<DropView>(body),
        Route::Search => both::<Search>(body),
        Route::ShardMissingKeys => both::<ShardMissingKeys>(body),
        Route::ShardPublish => both::<ShardPublish>(body),
        Route::ShardStage => both::<ShardStage>(body),
        Route::ShardSeal => both::<ShardSeal>(body),
        Route::ShardDropView => both::<ShardDropView>(body),
        Route::ShardSearch => both::<ShardSearch>(body),
        Route::ShardStatus => both::<ShardStatus>(body),
        Route::ShardOpenGroup => both::<ShardOpenGroup>(body),
        Route::Raft => both::<RaftRequest>(body),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let _ = decode::<WireError>(bytes);
    let Some((head, body)) = bytes.split_first_chunk::<HEADER_BYTES>() else { return };
    let header = Header::decode(*head);
    assert_eq!(header.encode(), *head);
    if let Ok((route, len)) = header.request() {
        assert!(len <= route.max_request_bytes() as usize);
        as_route(route, body);
    }
});
