//! Who this side is: the organisation's root certificate, its own certificate chain and private key.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sextant_proto::access::Peer;
use x509_parser::prelude::{FromDer, GeneralName, ParsedExtension, X509Certificate};

use crate::authority::files;
use crate::error::TransportError;

/// The DNS name in every certificate and the name that every client asks for: nodes are known by their URI, not by
/// where they run.
pub(crate) const TLS_NAME: &str = "sextant";

const REPAIR: &str = "restore it from a backup, or have it issued again";

struct Parts {
    root: CertificateDer<'static>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    peer: Peer,
}

/// Root, chain and key of one side. Cheap to clone; `Debug` shows the name alone.
#[derive(Clone)]
pub struct Identity(Arc<Parts>);

impl Identity {
    /// From PEM texts: the root, the chain (own certificate first), the key.
    pub fn from_pem(root: &str, chain: &str, key: &str) -> Result<Self, TransportError> {
        let bad = |what: &'static str| {
            move |error: String| {
                TransportError::Certificate(format!("the {what} is no PEM text of its kind: {error}"))
            }
        };
        Self::from_der(
            read_root(root).map_err(bad("root certificate"))?,
            read_chain(chain).map_err(bad("certificate chain"))?,
            read_key(key).map_err(bad("private key"))?,
        )
    }

    /// From three PEM files; the key file must be its owner's alone.
    pub fn from_files(root: &Path, chain: &Path, key: &Path) -> Result<Self, TransportError> {
        let damaged = |path: &Path| {
            let path = path.to_path_buf();
            move |reason| TransportError::Damaged { path, reason, repair: REPAIR }
        };
        let secret = String::from_utf8_lossy(&files::read_secret(key)?).into_owned();
        Self::from_der(
            read_root(&files::read_text(root)?).map_err(damaged(root))?,
            read_chain(&files::read_text(chain)?).map_err(damaged(chain))?,
            read_key(&secret).map_err(damaged(key))?,
        )
    }

    pub(crate) fn from_der(
        root: CertificateDer<'static>,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, TransportError> {
        let leaf = chain.first().ok_or_else(|| TransportError::Certificate("the chain is empty".into()))?;
        let peer = peer_of(leaf).map_err(TransportError::Certificate)?;
        Ok(Self(Arc::new(Parts { root, chain, key, peer })))
    }

    /// Who this side is, as others will see it.
    pub fn peer(&self) -> &Peer {
        &self.0.peer
    }

    pub(crate) fn root(&self) -> &CertificateDer<'static> {
        &self.0.root
    }

    pub(crate) fn chain(&self) -> Vec<CertificateDer<'static>> {
        self.0.chain.clone()
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        self.0.key.clone_key()
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.0.peer)
    }
}

fn read_root(pem: &str) -> Result<CertificateDer<'static>, String> {
    CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| error.to_string())
}

fn read_chain(pem: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let chain = CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| error.to_string())?;
    if chain.is_empty() { Err("it holds no certificate".into()) } else { Ok(chain) }
}

fn read_key(pem: &str) -> Result<PrivateKeyDer<'static>, String> {
    // The reader's error may quote the file.
    PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| "it is no PEM private key".into())
}

/// The one peer that a certificate's URI names. The chain must have been verified before this is trusted.
pub(crate) fn peer_of(certificate: &CertificateDer<'_>) -> Result<Peer, String> {
    let (_, parsed) =
        X509Certificate::from_der(certificate).map_err(|error| format!("no X.509 certificate: {error}"))?;
    let mut uris = parsed
        .extensions()
        .iter()
        .filter_map(|extension| match extension.parsed_extension() {
            ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
            _ => None,
        })
        .flatten()
        .filter_map(|name| if let GeneralName::URI(uri) = name { Some(*uri) } else { None });
    match (uris.next(), uris.next()) {
        (Some(uri), None) => uri.parse().map_err(|error| format!("{error}")),
        (None, _) => Err("the certificate has no spiffe:// URI".into()),
        (Some(_), Some(_)) => Err("the certificate has more than one URI".into()),
    }
}

/// The peer of a verified connection.
pub(crate) fn peer_of_connection(connection: &quinn::Connection) -> Result<Peer, String> {
    let chain = connection
        .peer_identity()
        .and_then(|any| any.downcast::<Vec<CertificateDer<'static>>>().ok())
        .ok_or("the other side showed no certificate")?;
    peer_of(chain.first().ok_or("the other side's certificate chain is empty")?)
}
