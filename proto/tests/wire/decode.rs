//! No bytes make a decoder panic, or take memory that they do not bring themselves.

use proptest::prelude::*;
use sextant_proto::error::WireError;
use sextant_proto::frame::{HEADER_BYTES, Header};
use sextant_proto::message::decode;

use crate::samples;

/// Gives the bytes to every decoder there is.
fn decode_as_everything(bytes: &[u8]) {
    for sample in samples::all() {
        (sample.decode_request)(bytes);
        (sample.decode_reply)(bytes);
    }
    let _ = decode::<WireError>(bytes);
    if let Some(header) = bytes.first_chunk::<HEADER_BYTES>() {
        let header = Header::decode(*header);
        assert_eq!(header.encode(), bytes[..HEADER_BYTES]);
        if let Ok((route, len)) = header.request() {
            assert!(len <= route.max_request_bytes() as usize);
        }
    }
}

/// A change of a message's bytes.
#[derive(Debug, Clone)]
enum Mutation {
    Set(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Insert(prop::sample::Index, Vec<u8>),
    Repeat(prop::sample::Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    // Heads of MessagePack that announce more than follows come more often than chance would have them.
    let heads = prop::sample::select(vec![0xc6, 0xc9, 0xdb, 0xdd, 0xdf, 0xc4, 0xdc, 0xde, 0x8f, 0x9f, 0xc1]);
    let byte = prop_oneof![any::<u8>(), heads];
    prop_oneof![
        (any::<prop::sample::Index>(), byte).prop_map(|(at, byte)| Mutation::Set(at, byte)),
        any::<prop::sample::Index>().prop_map(Mutation::Cut),
        (any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 1..9))
            .prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        any::<prop::sample::Index>().prop_map(Mutation::Repeat),
    ]
}

fn apply(bytes: &mut Vec<u8>, mutation: &Mutation) {
    if bytes.is_empty() {
        return;
    }
    match mutation {
        Mutation::Set(at, byte) => {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        Mutation::Cut(at) => bytes.truncate(at.index(bytes.len())),
        Mutation::Insert(at, new) => {
            let at = at.index(bytes.len());
            bytes.splice(at..at, new.iter().copied());
        }
        Mutation::Repeat(at) => {
            let tail = bytes[at.index(bytes.len())..].to_vec();
            bytes.extend(tail);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        decode_as_everything(&bytes);
    }

    #[test]
    fn mutated_messages(which in any::<prop::sample::Index>(), mutations in prop::collection::vec(mutation(), 1..6)) {
        let samples = samples::all();
        let sample = which.get(&samples);
        for mut bytes in [sample.request.clone(), sample.reply.clone()] {
            for mutation in &mutations {
                apply(&mut bytes, mutation);
            }
            decode_as_everything(&bytes);
        }
    }
}

/// Lengths of 4 GiB in front of nothing, and nesting without end.
#[test]
fn announcements_without_substance() {
    for head in [0xc6u8, 0xc9, 0xdb, 0xdd, 0xdf] {
        let announced = [&[head][..], &[0xff; 4]].concat();
        decode_as_everything(&announced);
        for name in ["keys", "texts", "batch", "entries", "hits", "body"] {
            let field = [&[0x81, 0xa0 + name.len() as u8][..], name.as_bytes(), &announced].concat();
            decode_as_everything(&field);
        }
    }
    for head in [0x91u8, 0x81, 0xdd] {
        decode_as_everything(&vec![head; 1 << 20]);
    }
    // An unknown field is skipped, however deep it is.
    let deep = [b"\x81\xa1x".as_slice(), &vec![0x91; 1 << 20]].concat();
    decode_as_everything(&deep);
}
