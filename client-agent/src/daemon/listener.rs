//! The daemon's socket: private, and deaf to other users.
//!
//! Must not know what is said over it.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use axum::serve::Listener;
use tokio::net::unix::SocketAddr;
use tokio::net::{UnixListener, UnixStream};

/// Pause after a failed accept, such as one without a free file descriptor.
const BREATH: Duration = Duration::from_millis(100);

/// Accepts connections of processes of the same user.
#[derive(Debug)]
pub struct OwnersOnly {
    inner: UnixListener,
    uid: u32,
}

impl OwnersOnly {
    /// Listens at `path`. What an earlier process left there is removed first: who holds the data folder's lock owns
    /// the path.
    pub fn bind(path: &Path) -> io::Result<Self> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let inner = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { inner, uid: rustix::process::geteuid().as_raw() })
    }
}

impl Listener for OwnersOnly {
    type Io = UnixStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (UnixStream, SocketAddr) {
        loop {
            match self.inner.accept().await {
                Ok((stream, from)) => match stream.peer_cred() {
                    Ok(peer) if peer.uid() == self.uid => return (stream, from),
                    Ok(peer) => tracing::warn!(uid = peer.uid(), "refused a connection of another user"),
                    Err(error) => tracing::warn!(%error, "refused a connection of an unknown user"),
                },
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(BREATH).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_owner_is_heard() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let path = dir.path().join("s");
        std::fs::write(&path, "left behind").expect("written");
        let mut listener = OwnersOnly::bind(&path).expect("bound");
        assert_eq!(path.metadata().expect("there").permissions().mode() & 0o777, 0o600);
        let _own = UnixStream::connect(&path).await.expect("connects");
        listener.accept().await;
        listener.uid += 1;
        let mut other = UnixStream::connect(&path).await.expect("connects");
        let mut heard = std::pin::pin!(listener.accept());
        let mut byte = [0; 1];
        tokio::select! {
            _ = &mut heard => panic!("another user was let in"),
            read = tokio::io::AsyncReadExt::read(&mut other, &mut byte) => {
                assert!(matches!(read, Ok(0) | Err(_)), "hung up on");
            }
        }
    }
}
