//! Lanes, bounds, cancellation and failures, on backends without a model.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sextant_embed::EmbedService;
use sextant_embed::backend::fake::FakeBackend;
use sextant_embed::backend::{Backend, Output};
use sextant_embed::batch::BatchPolicy;
use sextant_embed::engine::Engine;
use sextant_proto::code::{CodeSpec, CodeWidth, sign_code, words_to_bytes};
use sextant_proto::embed::{EmbedRequest, Lane};
use sextant_proto::error::ErrorCode;
use sextant_proto::ids::ModelFingerprint;

use crate::nodes::{DIMS, engine, fakes, parts, request, scripted};

const DEADLINE: Duration = Duration::from_secs(20);

/// The session, the batches that it begins, and what lets it go on.
type Gated = (Vec<Box<dyn Backend>>, Receiver<Vec<usize>>, Sender<()>);

/// A session that says which batch it begins (tokens of its rows) and waits to be let go on.
fn gated() -> Gated {
    let (began, begins) = channel();
    let (go, gate) = channel::<()>();
    let mut fake = FakeBackend::new(DIMS);
    let backends = scripted(move |batch| {
        // Both ends vanish with the test; then the session may run freely.
        let _ = began.send(batch.rows.iter().map(|row| row.len()).collect());
        let _ = gate.recv();
        fake.run(batch)
    });
    (backends, begins, go)
}

async fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let until = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < until, "{what} did not come within {DEADLINE:?}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_query_gets_floats_that_agree_with_its_code() {
    let engine = engine(parts(fakes(2)));
    let texts = ["open a file", "close the socket"];
    let query = engine.embed(request(Lane::Query, texts)).await.unwrap();
    let index = engine.embed(request(Lane::Index, texts)).await.unwrap();
    assert_eq!(query.codes, index.codes);
    assert!(index.floats.is_empty());
    let spec = CodeSpec::default();
    for at in 0..2 {
        let rotated = query.rotated(at, spec).unwrap();
        let code = words_to_bytes(&sign_code(&rotated, spec.width).unwrap());
        assert_eq!(query.code(at, spec).unwrap(), code);
    }
    assert_eq!((query.tokens, query.truncated), (6, vec![0, 0]));
}

#[tokio::test]
async fn texts_that_share_words_are_nearer() {
    let engine = engine(parts(fakes(1)));
    let texts = ["read the config file", "read_config_file", "rotate session tokens"];
    let reply = engine.embed(request(Lane::Index, texts)).await.unwrap();
    let code = |at| reply.code(at, CodeSpec::default()).unwrap();
    let apart = |a: &[u8], b: &[u8]| a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
    assert!(apart(code(0), code(1)) + 300 < apart(code(0), code(2)));
}

#[tokio::test]
async fn a_code_does_not_depend_on_what_travels_with_it() {
    for policy in [BatchPolicy::SINGLE, BatchPolicy::ACCELERATOR] {
        let engine = engine(sextant_embed::engine::EngineParts { policy, ..parts(fakes(2)) });
        let alone = engine.embed(request(Lane::Index, ["fn open(path)"])).await.unwrap();
        let crowd = (0..100).map(|n| if n == 57 { "fn open(path)".into() } else { "word ".repeat(n % 40) });
        let crowd = engine.embed(request(Lane::Index, crowd)).await.unwrap();
        assert_eq!(crowd.code(57, CodeSpec::default()).unwrap(), alone.codes);
    }
}

#[tokio::test]
async fn what_cannot_be_served_is_refused_with_its_code() {
    let service = EmbedService::with_engines(vec![engine(parts(fakes(1)))]);
    let refuse = async |request| service.embed(request).await.unwrap_err();
    let good = || request(Lane::Index, ["text"]);
    let other = refuse(EmbedRequest { model: ModelFingerprint([1; 32]), ..good() }).await;
    assert_eq!(other.code, ErrorCode::NotFound);
    assert!(other.message.contains("fake"), "{other}");
    let plain = CodeSpec { width: CodeWidth::DEFAULT, rotation_seed: None };
    assert_eq!(refuse(EmbedRequest { code: plain, ..good() }).await.code, ErrorCode::BadRequest);
    assert_eq!(refuse(request(Lane::Index, Vec::<String>::new())).await.code, ErrorCode::BadRequest);
    assert_eq!(refuse(request(Lane::Index, vec![""; 513])).await.code, ErrorCode::BadRequest);
    assert_eq!(refuse(request(Lane::Query, ["a".repeat(300_000)])).await.code, ErrorCode::TooLarge);
}

#[tokio::test]
async fn a_query_waits_for_one_batch_of_a_full_index_lane() {
    let (backends, begins, go) = gated();
    let engine = Arc::new(engine(parts(backends)));
    let index = tokio::spawn({
        let engine = Arc::clone(&engine);
        async move { engine.embed(request(Lane::Index, vec!["index"; 500])).await }
    });
    wait_for("the index lane", || engine.waiting(Lane::Index) == 499).await;
    assert_eq!(begins.recv_timeout(DEADLINE).unwrap(), [1]);
    let query = tokio::spawn({
        let engine = Arc::clone(&engine);
        async move { engine.embed(request(Lane::Query, ["a query of five words"])).await }
    });
    wait_for("the query", || engine.waiting(Lane::Query) == 1).await;
    go.send(()).unwrap();
    assert_eq!(begins.recv_timeout(DEADLINE).unwrap(), [5], "the query is the next batch");
    go.send(()).unwrap();
    assert!(query.await.unwrap().is_ok());
    assert!(!index.is_finished());
    drop(go);
    assert_eq!(index.await.unwrap().unwrap().truncated.len(), 500);
}

#[tokio::test]
async fn a_full_lane_is_overloaded_and_the_other_is_not() {
    let (backends, begins, go) = gated();
    let engine = Arc::new(engine(parts(backends)));
    let held = tokio::spawn({
        let engine = Arc::clone(&engine);
        async move { engine.embed(request(Lane::Index, vec!["index"; 512])).await }
    });
    wait_for("the index lane", || engine.waiting(Lane::Index) == 511).await;
    assert_eq!(begins.recv_timeout(DEADLINE).unwrap(), [1]);
    let error = engine.embed(request(Lane::Index, ["one more"])).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Overloaded);
    assert!(error.retry_after_ms.is_some_and(|wait_ms| (50..=30_000).contains(&wait_ms)), "{error:?}");
    drop(go);
    assert!(engine.embed(request(Lane::Query, ["a query"])).await.is_ok());
    assert!(held.await.unwrap().is_ok());
    assert!(engine.embed(request(Lane::Index, ["one more"])).await.is_ok());
}

#[tokio::test]
async fn a_caller_that_left_costs_no_more_batches() {
    let (backends, begins, go) = gated();
    let engine = Arc::new(engine(parts(backends)));
    let left = tokio::spawn({
        let engine = Arc::clone(&engine);
        async move { engine.embed(request(Lane::Index, vec!["left"; 512])).await }
    });
    wait_for("the index lane", || engine.waiting(Lane::Index) == 511).await;
    assert_eq!(begins.recv_timeout(DEADLINE).unwrap(), [1]);
    left.abort();
    assert!(left.await.unwrap_err().is_cancelled());
    drop(go);
    // The slots come back as the texts are skipped, and the next batch is the next caller's.
    let until = Instant::now() + DEADLINE;
    let texts = vec!["three words here"; 512];
    while let Err(error) = engine.embed(request(Lane::Index, texts.clone())).await {
        assert!(error.code == ErrorCode::Overloaded && Instant::now() < until, "{error}");
    }
    assert_eq!(begins.iter().next(), Some(vec![3]));
}

#[tokio::test]
async fn values_that_are_not_finite_end_the_request() {
    for bad in [f32::NAN, f32::INFINITY] {
        let engine = engine(parts(scripted(move |batch| {
            let mut values = vec![1.0; DIMS * batch.rows.len()];
            values[3] = bad;
            Ok(Output::Pooled { dims: DIMS, values })
        })));
        let error = engine.embed(request(Lane::Index, vec!["text"; 40])).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Inference);
        assert!(!error.message.contains("text"), "{error}");
    }
}

#[tokio::test]
async fn a_panic_of_the_runtime_ends_one_request_and_not_the_session() {
    let mut fake = FakeBackend::new(DIMS);
    let mut first = true;
    let engine = engine(parts(scripted(move |batch| {
        assert!(!std::mem::take(&mut first), "planted");
        fake.run(batch)
    })));
    let error = engine.embed(request(Lane::Index, ["a"])).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Internal);
    assert!(engine.embed(request(Lane::Index, ["a"])).await.is_ok());
}

#[tokio::test]
async fn accelerator_batches_sort_by_length_and_keep_their_order_in_the_reply() {
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let mut fake = FakeBackend::new(DIMS);
    let seen = Arc::clone(&sizes);
    let backends = scripted(move |batch| {
        seen.lock().unwrap().push(batch.rows.iter().map(|row| row.len()).collect::<Vec<_>>());
        fake.run(batch)
    });
    let policy = BatchPolicy { max_texts: 8, max_tokens: 64 };
    let batched = engine(sextant_embed::engine::EngineParts { policy, ..parts(backends) });
    let texts: Vec<String> = (0..60).map(|n| format!("w{n} ").repeat(1 + n * 7 % 13)).collect();
    let reply = batched.embed(request(Lane::Index, texts.clone())).await.unwrap();
    let plain = engine(parts(fakes(1))).embed(request(Lane::Index, texts)).await.unwrap();
    assert_eq!(reply.codes, plain.codes);
    let sizes = sizes.lock().unwrap();
    assert_eq!(sizes.iter().map(Vec::len).sum::<usize>(), 60);
    assert!(sizes.iter().all(|rows| rows.is_sorted() && policy.allows(rows.len(), rows[rows.len() - 1])));
    assert!(sizes.iter().any(|rows| rows.len() > 1));
}

#[tokio::test]
async fn an_engine_that_ends_answers_what_waits() {
    let (backends, begins, go) = gated();
    let engine: Engine = engine(parts(backends));
    let mut waiting = Box::pin(engine.embed(request(Lane::Index, vec!["text"; 10])));
    // Polled until its texts are in the queue.
    wait_for_future(&mut waiting, || begins.try_recv().is_ok()).await;
    drop(waiting);
    drop(go);
    drop(engine);
}

/// Polls `future` until `condition` holds; it must not end before.
async fn wait_for_future<F: Future + Unpin>(future: &mut F, condition: impl Fn() -> bool) {
    let until = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < until, "nothing happened within {DEADLINE:?}");
        tokio::select! {
            biased;
            _ = &mut *future => panic!("the future ended early"),
            () = tokio::task::yield_now() => {}
        }
    }
}
