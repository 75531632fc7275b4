//! Frozen bytes of the protocol. A test that fails here means a change of the wire, and so of the protocol's version.
//!
//! Messages are frozen in `wire/messages.hex`; the others stand in this file.

#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]

#[path = "wire/decode.rs"]
mod decode;
#[path = "wire/samples.rs"]
mod samples;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sextant_proto::access::{Peer, Role};
use sextant_proto::chunk::{ItemType, flags};
use sextant_proto::code::{CodeSpec, CodeWidth, QueryVector, sign_code, words_to_bytes};
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::frame::{self, HEADER_BYTES, Header, REPLY_ERROR, REPLY_OK};
use sextant_proto::handshake::{ALPN, PROTOCOL_VERSION};
use sextant_proto::ids;
use sextant_proto::message::{Route, decode, encode};
use sextant_proto::slot::{SLOTS, slot_of};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[test]
fn frame_header() {
    let header = Header { body_len: 0x0102_0304, route: 0x0506 };
    assert_eq!(HEADER_BYTES, 6);
    assert_eq!(hex(&header.encode()), "040302010605");
    assert_eq!(Header::decode(header.encode()), header);
    assert_eq!((REPLY_OK, REPLY_ERROR), (0, 1));
    assert_eq!(hex(&frame::encode(Route::Search as u16, b"body").unwrap()), "040000003800626f6479");
    assert_eq!((ALPN, PROTOCOL_VERSION), (b"sextant/1".as_slice(), 1));
}

#[test]
fn route_numbers() {
    let expected = [
        (16, "Handshake"),
        (32, "Embed"),
        (33, "Models"),
        (48, "OpenCollection"),
        (49, "ClusterStatus"),
        (50, "MissingKeys"),
        (51, "Publish"),
        (52, "Stage"),
        (53, "Seal"),
        (54, "SetBranch"),
        (55, "DropView"),
        (56, "Search"),
        (80, "ShardMissingKeys"),
        (81, "ShardPublish"),
        (82, "ShardStage"),
        (83, "ShardSeal"),
        (84, "ShardDropView"),
        (85, "ShardSearch"),
        (86, "ShardStatus"),
        (87, "ShardOpenGroup"),
        (112, "Raft"),
    ];
    let actual: Vec<_> = Route::ALL.iter().map(|route| (*route as u16, route.name())).collect();
    assert_eq!(actual, expected);
    for number in 0..=u16::MAX {
        assert_eq!(
            Route::from_number(number).map(|route| route as u16),
            Route::ALL.iter().map(|route| *route as u16).find(|known| *known == number)
        );
    }
}

#[test]
fn a_length_over_its_limit_is_refused_before_anything_is_read() {
    for route in Route::ALL {
        let limit = route.max_request_bytes();
        assert_eq!(Header { body_len: limit, route: *route as u16 }.request(), Ok((*route, limit as usize)));
        for body_len in [limit + 1, u32::MAX] {
            let error = Header { body_len, route: *route as u16 }.request().unwrap_err();
            assert_eq!(error.code, ErrorCode::TooLarge);
        }
    }
    assert_eq!(Header { body_len: 0, route: 0 }.request().unwrap_err().code, ErrorCode::UnknownRoute);
}

#[test]
fn code_bit_order() {
    let mut vector = [-1.0f32; 128];
    // Bits 0, 9, 63 and 64; zero counts as positive.
    for at in [0, 9, 63] {
        vector[at] = 1.0;
    }
    vector[64] = 0.0;
    let words = sign_code(&vector, CodeWidth::new(128).unwrap()).unwrap();
    assert_eq!(words, [0x8000_0000_0000_0201, 1]);
    assert_eq!(hex(&words_to_bytes(&words)), "01020000000000800100000000000000");
    let code = CodeSpec { width: CodeWidth::new(64).unwrap(), rotation_seed: None };
    let mut query = [0.0f32; 64];
    query[..3].copy_from_slice(&[1.0, -0.5, 0.25]);
    let query = QueryVector::quantise(ids::ModelFingerprint([0; 32]), code, &query).unwrap();
    // 32767, -16383.5 rounded away from zero, 8191.75 rounded up.
    assert_eq!(hex(&query.weights[..8]), "ff7f00c000200000");
    assert_eq!(query.code_words().unwrap(), [!2]);
}

fn id<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: T, expected: &str) {
    let bytes = encode(&value).unwrap();
    assert_eq!(hex(&bytes), expected, "{value:?}");
    assert_eq!(decode::<T>(&bytes).unwrap(), value);
}

#[test]
fn every_id() {
    let long: [u8; 32] = std::array::from_fn(|at| at as u8);
    let short: [u8; 16] = std::array::from_fn(|at| 0xf0 + at as u8);
    let long_hex = format!("c420{}", hex(&long));
    let short_hex = format!("c410{}", hex(&short));
    id(ids::BlobId(long), &long_hex);
    id(ids::ChunkKey(long), &long_hex);
    id(ids::RevisionId(long), &long_hex);
    id(ids::ModelFingerprint(long), &long_hex);
    id(ids::OrgKeyId(long), &long_hex);
    id(ids::SlotDigest(long), &long_hex);
    id(ids::TextHash(short), &short_hex);
    id(ids::WorkspaceId(short), &short_hex);
    id(ids::CollectionId(u64::MAX), "cfffffffffffffffff");
    id(ids::GroupId(1), "01");
    id(ids::NodeId(128), "cc80");
    id(ids::Incarnation(256), "cd0100");
    id(ids::GenerationId(u32::MAX), "ceffffffff");
    id(ids::Sequence(65_536), "ce00010000");
    id(ids::LogIndex(1 << 32), "cf0000000100000000");
    id(ids::ChunkerVersion(7), "07");
    assert_eq!(ids::TextHash(short).to_string(), "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
}

#[test]
fn slots_of_paths() {
    assert_eq!(SLOTS, 1024);
    let paths = ["a", "README.md", "src/main.rs", "src/lib.rs", "ü/ß.kt", "deep/er/still/File.java"];
    let slots: Vec<_> = paths.iter().map(|path| slot_of(path).0).collect();
    assert_eq!(slots, [535, 266, 877, 227, 1006, 369]);
}

#[test]
fn error_codes() {
    use ErrorCode as E;
    let expected = [
        (1, E::BadRequest, "bad_request"),
        (2, E::UnknownRoute, "unknown_route"),
        (3, E::VersionMismatch, "version_mismatch"),
        (4, E::WrongOrgKey, "wrong_org_key"),
        (5, E::Forbidden, "forbidden"),
        (6, E::NotFound, "not_found"),
        (7, E::StaleMap, "stale_map"),
        (8, E::Behind, "behind"),
        (9, E::Overloaded, "overloaded"),
        (10, E::MissingKeys, "missing_keys"),
        (11, E::NotLeader, "not_leader"),
        (12, E::OutOfSequence, "out_of_sequence"),
        (13, E::DeadlineExceeded, "deadline_exceeded"),
        (14, E::TooLarge, "too_large"),
        (15, E::DiskFull, "disk_full"),
        (16, E::Inference, "inference"),
        (17, E::Unavailable, "unavailable"),
        (18, E::ShuttingDown, "shutting_down"),
        (19, E::Internal, "internal"),
    ];
    for (number, code, label) in expected {
        assert_eq!(u16::from(code), number);
        assert_eq!(E::from(number), code);
        assert_eq!(code.label(), label);
        id(code, &hex(&[number as u8]));
    }
    for number in (20..=u16::MAX).chain([0]) {
        assert_eq!(E::from(number), E::Unknown(number), "a new code needs a line here");
        assert_eq!(u16::from(E::Unknown(number)), number);
    }
}

#[test]
fn item_types_and_flags() {
    let expected = [
        (1, "function"),
        (2, "method"),
        (3, "class"),
        (4, "interface"),
        (5, "enum"),
        (6, "field"),
        (7, "import"),
        (8, "doc"),
        (9, "test"),
        (10, "config"),
        (11, "section"),
        (12, "window"),
    ];
    let actual: Vec<_> = ItemType::ALL.iter().map(|item| (*item as u8, item.name())).collect();
    assert_eq!(actual, expected);
    for byte in (13..=u8::MAX).chain([0]) {
        assert_eq!(ItemType::from_byte(byte), ItemType::Section);
    }
    assert_eq!((flags::TEST, flags::GENERATED), (1, 2));
}

#[test]
fn peers() {
    for (role, name) in [
        (Role::Client, "client"),
        (Role::Ci, "ci"),
        (Role::Embed, "embed"),
        (Role::Shard, "shard"),
        (Role::Coordinator, "coordinator"),
    ] {
        let peer = Peer { org: "acme".into(), role, name: "n1".into() };
        assert_eq!(peer.to_string(), format!("spiffe://acme/{name}/n1"));
        assert_eq!(peer.to_string().parse(), Ok(peer));
        assert_eq!(encode(&role).unwrap()[1..], *name.as_bytes());
    }
}

/// Every message with filled fields, against `wire/messages.hex`: lines of a name and its bytes.
#[test]
fn messages() {
    let samples = samples::all();
    let routes: BTreeSet<_> = samples.iter().map(|sample| sample.route).collect();
    assert_eq!(routes, Route::ALL.iter().copied().collect(), "every route needs a sample");
    let mut actual = String::new();
    for sample in &samples {
        (sample.round_trip)(&sample.request, &sample.reply);
        let _ = writeln!(actual, "{}.request {}", sample.route.name(), hex(&sample.request));
        let _ = writeln!(actual, "{}.reply {}", sample.route.name(), hex(&sample.reply));
    }
    for (name, bytes) in samples::others() {
        let _ = writeln!(actual, "{name} {}", hex(&bytes));
    }
    let expected = include_str!("wire/messages.hex");
    let changed: Vec<_> =
        actual.lines().filter(|line| !expected.lines().any(|known| known == *line)).collect();
    assert!(changed.is_empty(), "the wire has changed; new bytes are:\n{}", changed.join("\n"));
    assert_eq!(actual.lines().count(), expected.lines().count(), "a message has gone");
}

/// What a later version may add, and what an earlier one leaves out.
mod compatibility {
    use super::*;
    use sextant_proto::coordinator::{OpenCollection, Search, SearchReply};
    use sextant_proto::embed::EmbedReply;
    use sextant_proto::handshake::Handshake;
    use sextant_proto::publish::Batch;

    /// Puts a field that nobody knows in front of a message: a map of up to 14 fields.
    fn with_unknown_field(message: &[u8]) -> Vec<u8> {
        let (head, rest) = message.split_first().unwrap();
        assert!((0x80..0x8f).contains(head), "no small map: {head:02x}");
        // "later" → ["x", {"y": nil}]
        [&[head + 1][..], b"\xa5later\x92\xa1x\x81\xa1y\xc0", rest].concat()
    }

    #[test]
    fn unknown_fields_are_ignored_in_every_message() {
        for sample in samples::all() {
            let (request, reply) = (with_unknown_field(&sample.request), with_unknown_field(&sample.reply));
            assert!((sample.decode_request)(&request), "{:?}", sample.route);
            assert!((sample.decode_reply)(&reply), "{:?}", sample.route);
        }
    }

    #[derive(Serialize)]
    struct Version {
        version: u32,
    }

    #[test]
    fn missing_fields_take_their_defaults() {
        let handshake: Handshake = decode(&encode(&Version { version: 1 }).unwrap()).unwrap();
        assert_eq!(handshake, Handshake { version: 1, program: String::new(), org_key: None });

        #[derive(Serialize)]
        struct Codes<'a> {
            #[serde(with = "serde_bytes")]
            codes: &'a [u8],
        }
        let reply: EmbedReply = decode(&encode(&Codes { codes: &[1] }).unwrap()).unwrap();
        assert_eq!((reply.codes, reply.floats, reply.truncated, reply.tokens), (vec![1], vec![], vec![], 0));

        #[derive(Serialize)]
        struct Open<'a> {
            name: &'a str,
            model: ids::ModelFingerprint,
        }
        let open: OpenCollection =
            decode(&encode(&Open { name: "x", model: ids::ModelFingerprint([1; 32]) }).unwrap()).unwrap();
        assert_eq!((open.code, open.create), (CodeSpec::default(), false));

        let batch: Batch = decode(b"\x80").unwrap();
        assert_eq!(batch, Batch::default());

        let error: WireError = decode(b"\x82\xa4code\x09\xa7message\xa1m").unwrap();
        assert_eq!(error, WireError::new(ErrorCode::Overloaded, "m"));
        let later: WireError = decode(b"\x82\xa4code\xcd\x03\xe8\xa7message\xa1m").unwrap();
        assert_eq!(later.code, ErrorCode::Unknown(1000));
        assert!(!later.is_retryable());
    }

    #[test]
    fn fields_without_a_default_are_asked_for() {
        assert!(decode::<Handshake>(b"\x80").is_err());
        assert!(decode::<Search>(b"\x80").is_err());
        assert!(decode::<SearchReply>(b"\x80").is_err());
    }
}
