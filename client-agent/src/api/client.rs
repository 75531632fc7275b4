//! The other side of the local API: calls over a Unix socket, each on a connection of its own.
//!
//! Must not know how a daemon is found or started.

use std::io;
use std::path::{Path, PathBuf};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

use crate::api::stream::NDJSON;
use crate::api::wire::{
    DaemonReply, ErrorReply, Event, IndexRequest, Problem, SearchRequest, StatusRequest, StopReply,
    VersionReply,
};
use crate::report::{Answer, IndexReport, Progress, StatusReport};

/// Longest line of a stream, bytes: the answer with the most hits is far below it.
const LINE_CAP_BYTES: usize = 1 << 30;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// Nobody listens, or it is not ours.
    #[error(
        "{socket}: {source}; `sextant daemon start` starts a daemon, `sextant doctor` looks for the cause"
    )]
    Connect {
        /// The socket.
        socket: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It hung up in the middle.
    #[error(
        "the daemon ended before it answered ({0}); run the command again, nothing is lost; `sextant doctor` names its \
         log"
    )]
    Ended(String),
    /// It speaks another way.
    #[error(
        "the daemon's answer cannot be read: {0}; `sextant daemon stop` ends it, the next command starts this version"
    )]
    Foreign(String),
    /// It says no.
    #[error("{}", .0.message)]
    Refused(Problem),
}

/// A daemon that can be called.
#[derive(Debug, Clone)]
pub struct ApiClient {
    socket: PathBuf,
}

impl ApiClient {
    /// Calls whoever listens at `socket`.
    pub fn new(socket: &Path) -> Self {
        Self { socket: socket.to_owned() }
    }

    /// Where it calls.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Which build runs.
    pub async fn version(&self) -> Result<VersionReply, ApiError> {
        self.get("/v1/version").await
    }

    /// The daemon's own state.
    pub async fn daemon(&self) -> Result<DaemonReply, ApiError> {
        self.get("/v1/daemon").await
    }

    /// Ends it.
    pub async fn stop(&self) -> Result<StopReply, ApiError> {
        self.post("/v1/daemon/stop", &()).await
    }

    /// What is indexed.
    pub async fn status(&self, request: &StatusRequest) -> Result<StatusReport, ApiError> {
        self.post("/v1/status", request).await
    }

    /// Brings a folder's index up to date.
    pub async fn index(
        &self,
        request: &IndexRequest,
        progress: &dyn Progress,
    ) -> Result<IndexReport, ApiError> {
        self.stream("/v1/index", request, progress).await
    }

    /// Asks a question.
    pub async fn search(&self, request: &SearchRequest, progress: &dyn Progress) -> Result<Answer, ApiError> {
        self.stream("/v1/search", request, progress).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ApiError> {
        let response = self.send(Method::GET, path, Bytes::new(), "application/json").await?;
        reply(response).await
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, request: &impl Serialize) -> Result<T, ApiError> {
        let response = self.send(Method::POST, path, body(request)?, "application/json").await?;
        reply(response).await
    }

    async fn stream<T: DeserializeOwned>(
        &self,
        path: &str,
        request: &impl Serialize,
        progress: &dyn Progress,
    ) -> Result<T, ApiError> {
        let mut response = self.send(Method::POST, path, body(request)?, NDJSON).await?;
        if response.status() != StatusCode::OK {
            return reply(response).await;
        }
        let mut rest = Vec::new();
        while let Some(frame) = response.body_mut().frame().await {
            let Ok(bytes) = frame.map_err(ended)?.into_data() else { continue };
            let mut bytes = bytes.as_ref();
            while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
                rest.extend_from_slice(&bytes[..end]);
                bytes = &bytes[end + 1..];
                let event =
                    serde_json::from_slice(&rest).map_err(|error| ApiError::Foreign(error.to_string()))?;
                rest.clear();
                match event {
                    Event::Files { done, total } => progress.files(done, total),
                    Event::Chunks { done, total } => progress.chunks(done, total),
                    Event::Note { line } => progress.note(&line),
                    Event::Done { result } => return Ok(result),
                    Event::Failed { error } => return Err(ApiError::Refused(error)),
                }
            }
            rest.extend_from_slice(bytes);
            if rest.len() > LINE_CAP_BYTES {
                return Err(ApiError::Foreign("a line without an end".into()));
            }
        }
        Err(ApiError::Ended("the stream stopped".into()))
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        accept: &str,
    ) -> Result<Response<Incoming>, ApiError> {
        let connect = |source| ApiError::Connect { socket: self.socket.clone(), source };
        let stream = UnixStream::connect(&self.socket).await.map_err(connect)?;
        let peer = stream.peer_cred().map_err(connect)?;
        if peer.uid() != rustix::process::geteuid().as_raw() {
            return Err(connect(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it belongs to another user",
            )));
        }
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(ended)?;
        // It ends with the last of its sender and its response's body.
        tokio::spawn(connection);
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "localhost")
            .header(header::ACCEPT, accept)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .map_err(|error| ApiError::Foreign(error.to_string()))?;
        sender.send_request(request).await.map_err(ended)
    }
}

fn body(request: &impl Serialize) -> Result<Bytes, ApiError> {
    serde_json::to_vec(request).map(Bytes::from).map_err(|error| ApiError::Foreign(error.to_string()))
}

async fn reply<T: DeserializeOwned>(response: Response<Incoming>) -> Result<T, ApiError> {
    let status = response.status();
    let bytes = response.into_body().collect().await.map_err(ended)?.to_bytes();
    let foreign = |error: serde_json::Error| ApiError::Foreign(format!("status {status}: {error}"));
    if status == StatusCode::OK {
        return serde_json::from_slice(&bytes).map_err(foreign);
    }
    let problem: ErrorReply = serde_json::from_slice(&bytes).map_err(foreign)?;
    Err(ApiError::Refused(problem.error))
}

fn ended(error: hyper::Error) -> ApiError {
    ApiError::Ended(error.to_string())
}
