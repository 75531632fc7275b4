//! What can be called, and what is done then. One table: the router, the OpenAPI document and the tests go by it.
//!
//! Must not know how a daemon is found, nor how anything is indexed.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Json, Router};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::agent::SearchOptions;
use crate::api::describe;
use crate::api::stream::{self, NDJSON};
use crate::api::wire::{
    DaemonReply, IndexRequest, MAX_LIMIT, Problem, ProblemCode, SearchRequest, StatusRequest, StopReply,
    VersionReply,
};
use crate::daemon::activity::{Activity, Busy};
use crate::daemon::keeper::Keeper;
use crate::daemon::{Program, Record};
use crate::report::{Answer, IndexReport, Progress, Silent, StatusReport};

/// Largest request, bytes. The longest question is far below it, so that one over it is told so by its own message.
const BODY_CAP_BYTES: usize = 8 << 20;

/// What the handlers work with.
#[derive(Debug)]
pub struct Desk {
    /// The agent.
    pub keeper: Arc<Keeper>,
    /// Who is being served.
    pub activity: Activity,
    /// This build.
    pub program: Program,
    /// Fingerprint of the settings.
    pub settings: String,
    /// Where it is found.
    pub record: Record,
    /// Data folder.
    pub data_dir: PathBuf,
    /// When it began.
    pub started: Instant,
    /// Told to end.
    pub stop: Arc<tokio::sync::Notify>,
}

/// A route of the table.
pub struct Route {
    /// Method, in lower case.
    pub method: &'static str,
    /// Path.
    pub path: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Its handler.
    handler: fn() -> MethodRouter<Arc<Desk>>,
}

/// Every route.
pub const ROUTES: &[Route] = &[
    Route { method: "get", path: "/v1/version", summary: "Which build runs", handler: || get(version) },
    Route { method: "get", path: "/v1/openapi.json", summary: "This document", handler: || get(openapi) },
    Route { method: "get", path: "/v1/daemon", summary: "The daemon's own state", handler: || get(daemon) },
    Route {
        method: "post",
        path: "/v1/daemon/stop",
        summary: "End the daemon once requests under way are finished",
        handler: || post(stop),
    },
    Route {
        method: "post",
        path: "/v1/index",
        summary: "Bring the index of a folder up to date",
        handler: || post(index),
    },
    Route {
        method: "post",
        path: "/v1/search",
        summary: "Ask a question of a folder",
        handler: || post(search),
    },
    Route { method: "post", path: "/v1/status", summary: "What is indexed", handler: || post(status) },
];

/// The router over `desk`.
pub fn router(desk: Arc<Desk>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        router = router.route(route.path, (route.handler)());
    }
    router
        .fallback(|uri: Uri| async move {
            let message = format!("there is no {}; GET /v1/openapi.json lists what there is", uri.path());
            Problem::new(ProblemCode::UnknownRoute, message)
        })
        .method_not_allowed_fallback(|uri: Uri| async move {
            let message = format!("{} is not called like that; see GET /v1/openapi.json", uri.path());
            Problem::new(ProblemCode::UnknownRoute, message)
        })
        .layer(DefaultBodyLimit::max(BODY_CAP_BYTES))
        .with_state(desk)
}

async fn version(State(desk): State<Arc<Desk>>) -> Json<VersionReply> {
    Json(VersionReply {
        api: vec!["v1".to_owned()],
        program: desk.program.clone(),
        settings: desk.settings.clone(),
        pid: desk.record.pid,
    })
}

async fn openapi() -> Json<serde_json::Value> {
    Json(describe::document())
}

async fn daemon(State(desk): State<Arc<Desk>>) -> Json<DaemonReply> {
    let requests = desk.activity.watch().borrow().requests as u64;
    Json(DaemonReply {
        pid: desk.record.pid,
        program: desk.program.clone(),
        socket: desk.record.socket.display().to_string(),
        log: crate::daemon::log::file(&desk.data_dir).display().to_string(),
        data_dir: desk.data_dir.display().to_string(),
        up_s: desk.started.elapsed().as_secs_f64(),
        requests,
        open: desk.keeper.is_open().await,
        memory_bytes: memory(),
    })
}

async fn stop(State(desk): State<Arc<Desk>>) -> Json<StopReply> {
    let requests = desk.activity.watch().borrow().requests as u64;
    tracing::info!(requests, "asked to stop");
    desk.stop.notify_one();
    Json(StopReply { pid: desk.record.pid, requests })
}

async fn index(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let request: IndexRequest = parse(body)?;
    absolute(&request.path)?;
    let busy = desk.activity.begin();
    Ok(answer(&headers, busy, |progress| run_index(desk, request, progress)).await)
}

async fn run_index(
    desk: Arc<Desk>,
    request: IndexRequest,
    progress: Arc<dyn Progress>,
) -> Result<IndexReport, Problem> {
    let agent = desk.keeper.agent().await?;
    apart(move || async move {
        if !request.force {
            agent.admit(&request.path)?;
        }
        Ok(agent.index(&request.path, progress.as_ref()).await?)
    })
    .await
}

async fn search(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let request: SearchRequest = parse(body)?;
    absolute(&request.path)?;
    if !(1..=MAX_LIMIT).contains(&request.limit) {
        let message = format!("`limit` is {}; it may be 1 to {MAX_LIMIT}", request.limit);
        return Err(Problem::new(ProblemCode::BadRequest, message));
    }
    let busy = desk.activity.begin();
    Ok(answer(&headers, busy, |progress| run_search(desk, request, progress)).await)
}

async fn run_search(
    desk: Arc<Desk>,
    request: SearchRequest,
    progress: Arc<dyn Progress>,
) -> Result<Answer, Problem> {
    let agent = desk.keeper.agent().await?;
    let options = SearchOptions {
        limit: request.limit,
        languages: request.languages,
        snippets: request.snippets,
        refresh: request.refresh,
    };
    apart(move || async move {
        if !request.force {
            agent.admit(&request.path)?;
        }
        Ok(agent.search(&request.query, &request.path, &options, progress.as_ref()).await?)
    })
    .await
}

async fn status(
    State(desk): State<Arc<Desk>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<StatusReport>, Problem> {
    let request: StatusRequest = parse(body)?;
    let path = request.path.map(PathBuf::try_from).transpose();
    let path = path.map_err(|problem| Problem::new(ProblemCode::BadRequest, problem))?;
    if let Some(path) = &path {
        absolute(path)?;
    }
    let _busy = desk.activity.begin();
    let agent = desk.keeper.agent().await?;
    Ok(Json(apart(move || async move { Ok(agent.status(path.as_deref()).await?) }).await?))
}

/// Runs the agent's work on a thread of its own: it reads files and the manifest in between, and would hold up others on
/// an async worker. Dropped with the future that waits for it, at its next step.
async fn apart<T, F>(work: impl FnOnce() -> F + Send + 'static) -> Result<T, Problem>
where
    T: Send + 'static,
    F: Future<Output = Result<T, Problem>>,
{
    let (wanted, dropped) = tokio::sync::oneshot::channel::<()>();
    let runtime = tokio::runtime::Handle::current();
    let done = tokio::task::spawn_blocking(move || {
        runtime.block_on(async {
            tokio::select! {
                outcome = work() => Some(outcome),
                _ = dropped => None,
            }
        })
    });
    let outcome = done.await;
    drop(wanted);
    match outcome {
        Ok(Some(outcome)) => outcome,
        Ok(None) => Err(Problem::new(ProblemCode::Internal, "the work was dropped")),
        Err(error) => {
            tracing::error!(%error, "a request ended in a defect");
            Err(Problem::new(
                ProblemCode::Internal,
                "a defect; the daemon's log has its place: see `sextant doctor`",
            ))
        }
    }
}

/// The outcome of work alone, or with its events where the reader asks for them.
async fn answer<T, F>(headers: &HeaderMap, busy: Busy, work: impl FnOnce(Arc<dyn Progress>) -> F) -> Response
where
    T: Serialize + Send + Sync + 'static,
    F: Future<Output = Result<T, Problem>> + Send + 'static,
{
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accepts.contains(NDJSON) {
        return stream::respond(|told| {
            let work = work(told);
            async move {
                let _busy = busy;
                work.await
            }
        });
    }
    let outcome = work(Arc::new(Silent)).await;
    drop(busy);
    outcome.map(Json).into_response()
}

fn parse<T: DeserializeOwned>(body: Result<Bytes, BytesRejection>) -> Result<T, Problem> {
    let bad = |message: String| Problem::new(ProblemCode::BadRequest, message);
    let body = body.map_err(|error| bad(format!("the request cannot be read: {error}")))?;
    serde_json::from_slice(&body).map_err(|error| {
        bad(format!("the request is not what this route takes: {error}; see GET /v1/openapi.json"))
    })
}

/// A daemon stands in no folder, so a relative path would mean nothing.
fn absolute(path: &Path) -> Result<(), Problem> {
    if path.is_absolute() {
        return Ok(());
    }
    let message = format!("`path` is {}; it must be absolute", path.display());
    Err(Problem::new(ProblemCode::BadRequest, message))
}

/// Resident memory of this process, bytes.
fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
