//! Errors as the local API tells them: a code for programs, a message for people, a status for HTTP.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::agent::AgentError;
use crate::api::wire::{ErrorReply, Problem, ProblemCode};

impl Problem {
    /// A problem with its message.
    pub fn new(code: ProblemCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl ProblemCode {
    /// The status that goes with it.
    pub fn status(self) -> StatusCode {
        match self {
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::UnknownRoute | Self::BadPath => StatusCode::NOT_FOUND,
            Self::Refused => StatusCode::CONFLICT,
            Self::Tree => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Cluster => StatusCode::BAD_GATEWAY,
            Self::Setup | Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl From<AgentError> for Problem {
    fn from(error: AgentError) -> Self {
        let code = match &error {
            AgentError::Path { .. } => ProblemCode::BadPath,
            AgentError::TooWide { .. } => ProblemCode::Refused,
            AgentError::Query(_) => ProblemCode::BadRequest,
            AgentError::Walk(_) => ProblemCode::Tree,
            AgentError::Sync(_) | AgentError::Cluster(_) => ProblemCode::Cluster,
            AgentError::Task(_) => ProblemCode::Internal,
            _ => ProblemCode::Setup,
        };
        Self::new(code, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.code.status(), Json(ErrorReply { error: self })).into_response()
    }
}
