//! Certificates for every host there is, signed by an authority that only the sandbox trusts.

use std::{
    collections::HashMap,
    io::{self, Read, Write},
    sync::{Arc, Mutex, PoisonError},
};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType,
};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

/// The authority of one run of the benchmark.
#[derive(Debug)]
pub(crate) struct Authority {
    /// Its certificate, as files of trusted certificates hold it.
    pub(crate) pem: String,
    config: Arc<ServerConfig>,
}

impl Authority {
    pub(crate) fn new() -> io::Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "Local Root");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let pem = params.self_signed(&key).map_err(io::Error::other)?.pem();
        let hosts = Hosts { issuer: Issuer::new(params, key), made: Mutex::default() };
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?;
        let config = builder.with_no_client_auth().with_cert_resolver(Arc::new(hosts));
        Ok(Self { pem, config: Arc::new(config) })
    }

    /// The plain side of an encrypted stream.
    pub(crate) fn accept<S: Read + Write>(
        &self,
        stream: S,
    ) -> io::Result<StreamOwned<ServerConnection, S>> {
        let connection =
            ServerConnection::new(Arc::clone(&self.config)).map_err(io::Error::other)?;
        Ok(StreamOwned::new(connection, stream))
    }
}

struct Hosts {
    issuer: Issuer<'static, KeyPair>,
    made: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

impl std::fmt::Debug for Hosts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Hosts").finish_non_exhaustive()
    }
}

impl ResolvesServerCert for Hosts {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        // A client that connects to an address names none.
        let host = hello.server_name().unwrap_or("127.0.0.1").to_owned();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = made.get(&host) {
            return Some(Arc::clone(known));
        }
        let certified = Arc::new(self.certify(&host).ok()?);
        made.insert(host, Arc::clone(&certified));
        Some(certified)
    }
}

impl Hosts {
    fn certify(&self, host: &str) -> io::Result<CertifiedKey> {
        let mut params = CertificateParams::new(vec![host.to_owned()]).map_err(io::Error::other)?;
        params.distinguished_name.push(DnType::CommonName, "server");
        let loopback = SanType::IpAddress(std::net::Ipv4Addr::LOCALHOST.into());
        if !params.subject_alt_names.contains(&loopback) {
            params.subject_alt_names.push(loopback);
        }
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(io::Error::other)?;
        let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let secret = ring::sign::any_supported_type(&secret).map_err(io::Error::other)?;
        Ok(CertifiedKey::new(vec![CertificateDer::from(certificate.der().to_vec())], secret))
    }
}
