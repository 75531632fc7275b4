//! Texts made to cost much: each is answered or refused, soon, without growing the process.

use std::time::{Duration, Instant};

use sextant_embed::EmbedService;
use sextant_proto::embed::{EmbedRequest, Lane};
use sextant_proto::error::ErrorCode;
use sextant_proto::limits::MAX_EMBED_TEXT_BYTES;

use crate::nodes::{real, real_request, request};

const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// What a request may add to the process, bytes: its own texts and a few tensors.
const MEMORY_BYTES: u64 = 200 << 20;

/// Name, texts, and the error where it must be refused.
fn bombs() -> Vec<(&'static str, Vec<String>, Option<ErrorCode>)> {
    let fill = |part: &str| part.repeat(MAX_EMBED_TEXT_BYTES / part.len());
    let mut one_long = vec!["x ".repeat(8000)];
    one_long.extend(vec!["a".to_owned(); 511]);
    vec![
        ("one long, many short", one_long, None),
        ("characters that are words each", vec!["漢字仮名交じり".repeat(3000)], None),
        ("base64", vec!["QUJDRA==".repeat(20_000)], None),
        ("joined emoji", vec!["👩‍👩‍👧‍👦".repeat(5000)], None),
        ("joined emoji that pass", vec![fill("👩‍👩‍👧‍👦"); 16], None),
        ("too many empty texts", vec![String::new(); 20_000], Some(ErrorCode::BadRequest)),
        ("empty texts", vec![String::new(); 512], None),
        ("punctuation", vec!["{}[]();".repeat(20_000)], None),
        ("one word of 4 MB", vec!["a".repeat(4_000_000)], Some(ErrorCode::TooLarge)),
        ("one word that passes", vec![fill("a"); 16], None),
        ("combining marks", vec![fill("e\u{301}\u{301}\u{301}"); 4], None),
        ("white space", vec![fill(" \n\t"); 16], None),
        ("control characters", vec![fill("\0\u{1b}\u{7f}"); 4], None),
        ("special tokens as text", vec![fill("[CLS][SEP][MASK]"); 4], None),
    ]
}

/// Resident memory of this process, bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

async fn endure(service: &EmbedService, make: impl Fn(Vec<String>) -> EmbedRequest) {
    for (name, texts, refused) in bombs() {
        let (started, before, count) = (Instant::now(), resident(), texts.len());
        let reply = service.embed(make(texts)).await;
        let (took, grown) = (started.elapsed(), resident().saturating_sub(before));
        match (reply, refused) {
            (Ok(reply), None) => assert_eq!(reply.truncated.len(), count, "{name}"),
            (Err(error), Some(code)) => assert_eq!(error.code, code, "{name}"),
            (reply, refused) => panic!("{name}: {reply:?} where {refused:?} was due"),
        }
        assert!(took < LONGEST_WAIT, "{name} took {took:?}");
        assert!(grown < MEMORY_BYTES, "{name} grew the process by {} MiB", grown >> 20);
    }
}

#[tokio::test]
async fn the_fake_model_endures_every_kind() {
    let service = EmbedService::fake(384, 2).unwrap();
    let model = service.models().models[0].fingerprint;
    endure(&service, |texts| EmbedRequest { model, ..request(Lane::Index, texts) }).await;
}

#[tokio::test]
async fn the_real_model_endures_every_kind() {
    endure(real(), |texts| real_request(Lane::Index, texts)).await;
}
