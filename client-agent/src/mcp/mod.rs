//! The Model Context Protocol server: searches for an assistant, on standard input and output.
//!
//! A client of the local API like any other. `arguments` checks what an assistant sends. Must not know how anything is
//! found.

mod arguments;

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};

use crate::api::wire::SearchRequest;
use crate::config::Config;
use crate::daemon::reach;
use crate::report::{Answer, Silent};
use crate::snippet::SnippetState;
use arguments::{Arguments, TOOL};

/// Lines of a snippet that are sent.
const SNIPPET_LINES: usize = 40;
/// What the tool is for, in words for a model.
const DESCRIPTION: &str = "Finds code by meaning in a folder on this machine. Ask in plain words what the code does; \
    answers are places (path, lines) with their text, best first. The index is brought up to date before each answer.";

/// Why the server ended.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// The other side does not speak the protocol.
    #[error(
        "no conversation in the Model Context Protocol came about: {0}; an assistant starts this command, not a person"
    )]
    Start(String),
    /// It broke off.
    #[error("the conversation broke off: {0}")]
    Task(String),
}

struct Server {
    config: Config,
    current: PathBuf,
}

/// Serves until the other side hangs up.
pub async fn serve(config: &Config) -> Result<(), McpError> {
    let current = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let server = Server { config: config.clone(), current };
    let running =
        server.serve(rmcp::transport::stdio()).await.map_err(|error| McpError::Start(error.to_string()))?;
    running.waiting().await.map_err(|error| McpError::Task(error.to_string()))?;
    Ok(())
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("sextant", env!("CARGO_PKG_VERSION")))
            .with_instructions(DESCRIPTION)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tool = Tool::new(TOOL, DESCRIPTION, Arc::new(arguments::schema()));
        tool.annotations = Some(ToolAnnotations::new().read_only(true));
        Ok(ListToolsResult::with_all_items(vec![tool]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != TOOL {
            let message = format!("there is no tool `{}`; the only one is `{TOOL}`", request.name);
            return Err(ErrorData::invalid_params(message, None));
        }
        // A model that reads what is wrong with its call can mend it, so these are answers and no protocol errors.
        let result = match arguments::parse(request.arguments.unwrap_or_default()) {
            Ok(arguments) => match self.search(arguments).await {
                Ok(answer) => found(&answer),
                Err(message) => CallToolResult::error(vec![ContentBlock::text(message)]),
            },
            Err(problem) => CallToolResult::error(vec![ContentBlock::text(problem)]),
        };
        Ok(result.into())
    }
}

impl Server {
    async fn search(&self, arguments: Arguments) -> Result<Answer, String> {
        let daemon = reach(&self.config, &Silent).await.map_err(|error| error.to_string())?;
        let request = SearchRequest {
            query: arguments.query,
            path: self.current.join(arguments.path),
            limit: arguments.limit,
            languages: Vec::new(),
            snippets: true,
            refresh: true,
            force: false,
        };
        daemon.search(&request, &Silent).await.map_err(|error| error.to_string())
    }
}

/// The answer as text for a model, and as values for a program.
fn found(answer: &Answer) -> CallToolResult {
    let mut text = String::new();
    for warning in &answer.warnings {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "warning: {warning}");
    }
    if answer.hits.is_empty() {
        text.push_str("nothing was found\n");
    }
    for hit in &answer.hits {
        let path = answer.root.join(&hit.path);
        let doubt = match hit.state {
            SnippetState::Exact => "",
            SnippetState::Moved => " (moved)",
            SnippetState::Edited => " (edited since)",
            SnippetState::Missing => " (the file is gone)",
        };
        let _ = writeln!(
            text,
            "{}:{}-{}  {:.3}  {}{doubt}",
            path.display(),
            hit.start_line,
            hit.end_line,
            hit.score,
            hit.item
        );
        if let Some(snippet) = &hit.snippet {
            let total = snippet.lines().count();
            for line in snippet.lines().take(SNIPPET_LINES) {
                let _ = writeln!(text, "{line}");
            }
            if total > SNIPPET_LINES {
                let _ = writeln!(text, "… {} more lines", total - SNIPPET_LINES);
            }
        }
        text.push('\n');
    }
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = serde_json::to_value(answer).ok();
    result
}
