//! The organisation's certificate authority, kept in one folder: `ca.crt`, `ca.key`, and leaves issued from it.
//!
//! Embedded mode makes one on first start and issues fresh leaves at each start. It must not know what the roles do.

pub(crate) mod files;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use sextant_proto::access::{Peer, Role};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::error::TransportError;
use crate::identity::{Identity, TLS_NAME, peer_of};

const ROOT_FILE: &str = "ca.crt";
const KEY_FILE: &str = "ca.key";
const DAY: Duration = Duration::from_hours(24);
const ROOT_DAYS: u32 = 3650;
/// Leaves are valid from a little earlier, for machines whose clock is behind.
const CLOCK_SKEW: Duration = Duration::from_hours(1);
const REPAIR: &str = "restore the folder from a backup, or remove it and enrol every node and client again";

/// An authority that can issue certificates.
pub struct Authority {
    dir: PathBuf,
    org: String,
    root: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Makes the folder `dir` (mode 0700, whole or not at all) with a new root certificate and key for `org`.
    ///
    /// [`TransportError::Exists`] where the folder holds anything already.
    pub fn create(dir: &Path, org: &str) -> Result<Self, TransportError> {
        check_name("organisation", org)?;
        let key = KeyPair::generate().map_err(failed)?;
        let mut params = CertificateParams::new(Vec::new()).map_err(failed)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, org);
        params.distinguished_name.push(DnType::CommonName, format!("{org} Sextant authority"));
        let now = SystemTime::now();
        params.not_before = (now - CLOCK_SKEW).into();
        params.not_after = (now + DAY * ROOT_DAYS).into();
        let root = params.self_signed(&key).map_err(failed)?;
        let files = [(ROOT_FILE, root.pem()), (KEY_FILE, key.serialize_pem())];
        files::create_folder(dir, &files.each_ref().map(|(name, text)| (*name, text.as_bytes())))?;
        Self::open(dir)
    }

    /// Reads the folder, and checks that key and certificate belong together and that the key is its owner's alone.
    pub fn open(dir: &Path) -> Result<Self, TransportError> {
        let root_path = dir.join(ROOT_FILE);
        let key_path = dir.join(KEY_FILE);
        let damaged = |path: &Path, reason: String| TransportError::Damaged {
            path: path.into(),
            reason,
            repair: REPAIR,
        };
        let root_pem = files::read_text(&root_path)?;
        let root = CertificateDer::from_pem_slice(root_pem.as_bytes())
            .map_err(|error| damaged(&root_path, format!("no PEM certificate: {error}")))?;
        let (org, root_key) = read_root(&root).map_err(|reason| damaged(&root_path, reason))?;
        let key_pem = String::from_utf8(files::read_secret(&key_path)?)
            .map_err(|_| damaged(&key_path, "it is no text".into()))?;
        let key = KeyPair::from_pem(&key_pem).map_err(|_| damaged(&key_path, "no PEM private key".into()))?;
        if key.public_key_raw() != root_key {
            return Err(damaged(&key_path, format!("it is not the key of {ROOT_FILE}")));
        }
        let issuer =
            Issuer::from_ca_cert_der(&root, key).map_err(|error| damaged(&root_path, error.to_string()))?;
        Ok(Self { dir: dir.into(), org, root, issuer })
    }

    /// Opens the folder, or makes it where there is none. Two that race end with the same authority.
    pub fn open_or_create(dir: &Path, org: &str) -> Result<Self, TransportError> {
        if !dir.join(ROOT_FILE).exists() {
            match Self::create(dir, org) {
                Err(TransportError::Exists(_)) => {}
                made => return made,
            }
        }
        Self::open(dir)
    }

    /// The organisation.
    pub fn org(&self) -> &str {
        &self.org
    }

    /// Path of the root certificate, which every member may read.
    pub fn root_path(&self) -> PathBuf {
        self.dir.join(ROOT_FILE)
    }

    /// A fresh key and a certificate for it, valid for `days`. Kept in memory alone.
    pub fn issue(&self, role: Role, name: &str, days: u32) -> Result<Identity, TransportError> {
        let now = SystemTime::now();
        self.issue_between(role, name, now - CLOCK_SKEW, now + DAY * days)
    }

    /// As [`Self::issue`], with the first and last moment of validity.
    pub fn issue_between(
        &self,
        role: Role,
        name: &str,
        from: SystemTime,
        to: SystemTime,
    ) -> Result<Identity, TransportError> {
        let (chain, key) = self.sign(role, name, from, to)?;
        let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        Identity::from_der(self.root.clone(), vec![chain.der().clone()], key)
    }

    /// The certificate kept as `ROLE-NAME.crt` and `.key` in the folder; issued again, for `days`, where it is missing
    /// or less than a third of its time is left.
    pub fn load_or_issue(&self, role: Role, name: &str, days: u32) -> Result<Identity, TransportError> {
        check_name("name", name)?;
        let stem = format!("{}-{name}", role.name());
        let (chain_path, key_path) =
            (self.dir.join(format!("{stem}.crt")), self.dir.join(format!("{stem}.key")));
        if chain_path.exists() && key_path.exists() {
            match Identity::from_files(&self.root_path(), &chain_path, &key_path) {
                Ok(identity) if self.is_fresh(&identity) => return Ok(identity),
                Err(error @ TransportError::Exposed { .. }) => return Err(error),
                // Old, damaged, or torn by a crash between its two files: issue it again.
                Ok(_) | Err(_) => {}
            }
        }
        let now = SystemTime::now();
        let (chain, key) = self.sign(role, name, now - CLOCK_SKEW, now + DAY * days)?;
        files::replace_secret(&chain_path, chain.pem().as_bytes())?;
        files::replace_secret(&key_path, key.serialize_pem().as_bytes())?;
        Identity::from_files(&self.root_path(), &chain_path, &key_path)
    }

    /// Whether key and certificate belong together, this authority issued them, and a third of their time is left.
    fn is_fresh(&self, identity: &Identity) -> bool {
        let chain = identity.chain();
        let Some((leaf, root)) = chain.first().zip(Some(&self.root)) else { return false };
        let (Ok((_, leaf)), Ok((_, root))) =
            (X509Certificate::from_der(leaf), X509Certificate::from_der(root))
        else {
            return false;
        };
        let Ok(key) = KeyPair::try_from(identity.key().secret_der()) else { return false };
        let validity = leaf.validity();
        let (from, to) = (validity.not_before.timestamp(), validity.not_after.timestamp());
        let now =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs() as i64;
        key.public_key_raw() == leaf.public_key().subject_public_key.data.as_ref()
            && leaf.verify_signature(Some(root.public_key())).is_ok()
            && from <= now
            && to - now > (to - from) / 3
    }

    fn sign(
        &self,
        role: Role,
        name: &str,
        from: SystemTime,
        to: SystemTime,
    ) -> Result<(rcgen::Certificate, KeyPair), TransportError> {
        check_name("name", name)?;
        let peer = Peer { org: self.org.clone(), role, name: name.into() };
        let key = KeyPair::generate().map_err(failed)?;
        let mut params = CertificateParams::new(vec![TLS_NAME.to_owned()]).map_err(failed)?;
        params.subject_alt_names.push(SanType::URI(peer.to_string().try_into().map_err(failed)?));
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, format!("{} {name}", role.name()));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        params.not_before = from.into();
        params.not_after = to.into();
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?;
        debug_assert_eq!(peer_of(certificate.der()), Ok(peer));
        Ok((certificate, key))
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Authority({} in {})", self.org, self.dir.display())
    }
}

// By value, as `map_err` hands it over.
#[allow(clippy::needless_pass_by_value)]
fn failed(error: rcgen::Error) -> TransportError {
    TransportError::Certificate(error.to_string())
}

/// Names go into a URI, a file name and logs.
fn check_name(what: &'static str, name: &str) -> Result<(), TransportError> {
    let fits = (1..=128).contains(&name.len())
        && !name.starts_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._+@-".contains(&byte));
    if fits { Ok(()) } else { Err(TransportError::Name { what, got: name.chars().take(80).collect() }) }
}

/// Organisation and public key of a root certificate.
fn read_root(root: &CertificateDer<'_>) -> Result<(String, Vec<u8>), String> {
    let (_, parsed) =
        X509Certificate::from_der(root).map_err(|error| format!("no X.509 certificate: {error}"))?;
    if !parsed.is_ca() {
        return Err("it is not the certificate of an authority".into());
    }
    let org = parsed
        .subject()
        .iter_organization()
        .next()
        .and_then(|name| name.as_str().ok())
        .ok_or("it names no organisation")?;
    check_name("organisation", org).map_err(|error| error.to_string())?;
    Ok((org.to_owned(), parsed.public_key().subject_public_key.data.to_vec()))
}

#[cfg(test)]
mod tests;
