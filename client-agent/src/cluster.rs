//! The cluster as the agent uses it: one coordinator, one embed-node, requests with deadlines and retries.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use sextant_proto::code::{CodeSpec, QueryVector};
use sextant_proto::embed::{EmbedReply, EmbedRequest, Lane, ModelCard, ModelsRequest};
use sextant_proto::error::{ErrorCode, WireError};
use sextant_proto::message::{Request, encode};
use sextant_transport::{Client, Endpoint};

/// Longest wait for a reply to a write or a question.
const CALL: Duration = Duration::from_secs(30);
/// Longest wait for vectors of a request of the index lane.
const EMBED: Duration = Duration::from_mins(5);
/// Tries of a request that may succeed when sent again.
const TRIES: u32 = 8;

/// Connections to the cluster.
#[derive(Debug)]
pub struct Cluster {
    client: Client,
    coordinator: Endpoint,
    embed: Endpoint,
    bytes_sent: AtomicU64,
}

impl Cluster {
    /// Knows where to go; connects with the first request.
    pub fn new(client: Client, coordinator: Endpoint, embed: Endpoint) -> Self {
        Self { client, coordinator, embed, bytes_sent: AtomicU64::new(0) }
    }

    /// Bytes of request bodies sent so far.
    pub fn bytes_sent(&self) -> u64 {
        self.bytes_sent.load(Ordering::Relaxed)
    }

    /// Asks the coordinator.
    pub async fn ask<R: Request>(&self, request: &R) -> Result<R::Reply, WireError> {
        self.call(&self.coordinator, request, CALL).await
    }

    /// The model that the embed-node serves.
    pub async fn model(&self) -> Result<ModelCard, WireError> {
        let reply = self.call(&self.embed, &ModelsRequest {}, CALL).await?;
        let none = || WireError::new(ErrorCode::NotFound, "the embed-node serves no model");
        reply.models.into_iter().next().ok_or_else(none)
    }

    /// Texts to codes.
    pub async fn embed(&self, request: &EmbedRequest) -> Result<EmbedReply, WireError> {
        let reply = self.call(&self.embed, request, EMBED).await?;
        let expected = request.texts.len() * request.code.width.bytes();
        if reply.codes.len() != expected {
            let message =
                format!("the embed-node sent {} bytes of codes instead of {expected}", reply.codes.len());
            return Err(WireError::new(ErrorCode::Inference, message));
        }
        Ok(reply)
    }

    /// A question to a query vector.
    pub async fn embed_query(
        &self,
        model: &ModelCard,
        code: CodeSpec,
        query: &str,
    ) -> Result<QueryVector, WireError> {
        let request =
            EmbedRequest { lane: Lane::Query, model: model.fingerprint, code, texts: vec![query.to_owned()] };
        let reply = self.call(&self.embed, &request, CALL).await?;
        let missing =
            || WireError::new(ErrorCode::Inference, "the embed-node sent no vector for the question");
        let rotated = reply.rotated(0, code).ok_or_else(missing)?;
        QueryVector::quantise(model.fingerprint, code, &rotated)
            .map_err(|error| WireError::new(ErrorCode::Inference, error.to_string()))
    }

    async fn call<R: Request>(
        &self,
        to: &Endpoint,
        request: &R,
        deadline: Duration,
    ) -> Result<R::Reply, WireError> {
        self.bytes_sent.fetch_add(encode(request)?.len() as u64, Ordering::Relaxed);
        let end = Instant::now() + deadline;
        let mut wait = Duration::from_millis(20);
        for _ in 1..TRIES {
            match self.client.call(to, request, end.saturating_duration_since(Instant::now())).await {
                Err(error) if error.is_retryable() && Instant::now() + wait < end => {
                    let pause = error.retry_after_ms.map_or(wait, |ms| Duration::from_millis(ms.into()));
                    tokio::time::sleep(pause).await;
                    wait *= 2;
                }
                answer => return answer,
            }
        }
        self.client.call(to, request, end.saturating_duration_since(Instant::now())).await
    }
}
