//! What can go wrong while a side is set up. Failures of a call are [`sextant_proto::error::WireError`]s.

use std::net::SocketAddr;
use std::path::PathBuf;

use sextant_proto::message::Route;

/// Why a server, client, identity or authority could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// Two handlers for one route, or a handler for the handshake, which the transport answers itself.
    #[error("route {0:?} has two handlers, or is answered by the transport itself; register each route once")]
    DuplicateRoute(Route),
    /// The socket could not be opened.
    #[error(
        "cannot open the UDP socket {addr}: {source}; choose another address or end the process that holds it"
    )]
    Bind {
        /// Address asked for.
        addr: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file or folder could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file holds something else than it should.
    #[error("{} is damaged: {reason}; {repair}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
        /// What to do.
        repair: &'static str,
    },
    /// A secret that others can read.
    #[error("{} can be read by others (mode {mode:o}); run `chmod {wanted:o}` on it, and replace it if others may have", path.display())]
    Exposed {
        /// The file or folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// What they should be.
        wanted: u32,
    },
    /// A folder that is there already.
    #[error("{} is there already; open it, or choose another folder", .0.display())]
    Exists(PathBuf),
    /// A name that does not fit into a certificate's URI.
    #[error("{what} {got:?} must have 1 to 128 characters of A-Z a-z 0-9 . _ + @ -")]
    Name {
        /// Organisation or name.
        what: &'static str,
        /// Start of what was given.
        got: String,
    },
    /// A certificate or key that cannot be used.
    #[error("certificate or key: {0}; issue a new one from the organisation's authority")]
    Certificate(String),
    /// A setting out of its range.
    #[error("setting {name}: {reason}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The system gave no random bytes.
    #[error("the system gave no random bytes: {0}")]
    Random(String),
}
