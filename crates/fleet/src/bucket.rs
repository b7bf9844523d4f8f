//! A fleet in an S3 bucket or a compatible store (MinIO, Ceph, Garage), by crate object_store.
//!
//! Credentials, region and endpoint are taken from the usual variables (AWS_ACCESS_KEY_ID,
//! AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL) or the machine's role. Without TLS only
//! local endpoints are used unless AWS_ALLOW_HTTP permits others. Failed requests are retried; a
//! rejected one is an error that names the bucket.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::aws::{AmazonS3Builder, Checksum};
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore, ObjectStoreExt, RetryConfig};
use text::limits::{FLEET_BYTES, FLEET_RESULTS};
use tokio::runtime::{Builder, Runtime};

use crate::entry::{Entry, Listing, Pushed, RESULTS, file_of, is_whole};

const AT_ONCE: usize = 16;

const RETRIES: usize = 5;

/// Total retry time.
const GIVE_UP: Duration = Duration::from_secs(60);

const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

pub struct Bucket {
    name: String,
    results: Path,
    store: Arc<dyn ObjectStore>,
    runtime: Runtime,
}

impl std::fmt::Debug for Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "s3://{}/{}", self.name, self.results)
    }
}

impl Bucket {
    pub(crate) fn open(bucket: &str, prefix: &str) -> Result<Bucket> {
        // Once per process; a second call finds it installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let retry =
            RetryConfig { max_retries: RETRIES, retry_timeout: GIVE_UP, ..RetryConfig::default() };
        let environment = AmazonS3Builder::from_env();
        let options = ClientOptions::new()
            .with_connect_timeout(Duration::from_secs(10))
            .with_timeout(GIVE_UP)
            .with_allow_http(is_http_allowed());
        let store = environment
            .with_bucket_name(bucket)
            .with_client_options(options)
            .with_retry(retry)
            .with_checksum_algorithm(Checksum::SHA256)
            .build()
            .with_context(|| {
                format!("s3://{bucket}: cannot be used (set AWS_ACCESS_KEY_ID, AWS_REGION, AWS_ENDPOINT_URL)")
            })?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .context("fleet: no thread for requests")?;
        let results = Path::from(format!("{prefix}/{RESULTS}"));
        Ok(Bucket { name: bucket.to_owned(), results, store: Arc::new(store), runtime })
    }

    fn path(&self, name: &str) -> Path {
        self.results.clone().join(file_of(name))
    }

    fn refused(&self, what: &str) -> String {
        format!(
            "s3://{}: {what} failed (check the bucket's name, its permissions and the AWS_ variables)",
            self.name
        )
    }

    pub(crate) fn list(&self) -> Result<Listing> {
        let mut listing = Listing::default();
        let all = async {
            let mut found = self.store.list(Some(&self.results));
            while let Some(object) = found.try_next().await? {
                let file = object.location.filename().unwrap_or_default();
                match Entry::of(file, object.size) {
                    Some(entry) => listing.entries.push(entry),
                    None => listing.foreign_files += 1,
                }
                if listing.entries.len() as u64 > FLEET_RESULTS.most
                    || listing.foreign_files as u64 > FLEET_RESULTS.most
                {
                    break;
                }
            }
            Ok::<(), object_store::Error>(())
        };
        self.runtime.block_on(all).with_context(|| self.refused("listing"))?;
        Ok(listing)
    }

    pub(crate) fn read<T: Send>(
        &self,
        entries: &[Entry],
        each: impl Fn(&Entry, Result<Bytes>) -> T + Sync,
    ) -> Vec<T> {
        let of = |entry: &Entry| {
            let entry = entry.clone();
            async move {
                let bytes = self.get(&entry.name).await;
                (entry, bytes)
            }
        };
        let all = stream::iter(entries.iter().map(of)).buffered(AT_ONCE);
        self.runtime.block_on(all.map(|(entry, bytes)| each(&entry, bytes)).collect())
    }

    async fn get(&self, name: &str) -> Result<Bytes> {
        let found =
            self.store.get(&self.path(name)).await.with_context(|| self.refused("reading"))?;
        let mut stream = found.into_stream();
        let mut bytes = BytesMut::new();
        while let Some(part) = stream.try_next().await.with_context(|| self.refused("reading"))? {
            // A bucket may send more than it has listed.
            FLEET_BYTES.check(bytes.len().saturating_add(part.len()))?;
            bytes.extend_from_slice(&part);
        }
        Ok(bytes.freeze())
    }

    pub(crate) fn put(&self, name: &str, bytes: Bytes) -> Result<Pushed> {
        let path = self.path(name);
        let put = async {
            let there = match self.store.head(&path).await {
                Ok(found) => Some(found.size),
                Err(object_store::Error::NotFound { .. }) => None,
                Err(error) => return Err(anyhow!(error)),
            };
            let pushed = match there {
                None => Pushed::New,
                // Equal versions write equal bytes; another size may be another version's, or
                // damage.
                Some(size) if size == bytes.len() as u64 => return Ok(Pushed::There),
                Some(_) if self.get(name).await.is_ok_and(|found| is_whole(name, found)) => {
                    return Ok(Pushed::There);
                }
                Some(_) => Pushed::Repaired,
            };
            self.store.put(&path, bytes.into()).await?;
            Ok(pushed)
        };
        self.runtime.block_on(put).with_context(|| self.refused("writing"))
    }
}

/// Whether TLS may be omitted: to this machine, or by the user's permission.
fn is_http_allowed() -> bool {
    let variable = |name: &str| std::env::var(name).ok();
    if variable("AWS_ALLOW_HTTP").is_some_and(|word| word == "true" || word == "1") {
        return true;
    }
    let endpoint = variable("AWS_ENDPOINT_URL_S3")
        .or_else(|| variable("AWS_ENDPOINT_URL"))
        .or_else(|| variable("AWS_ENDPOINT"));
    endpoint.is_some_and(|url| is_loopback(&url))
}

fn is_loopback(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    LOOPBACK.iter().any(|host| {
        rest.strip_prefix(host)
            .is_some_and(|end| end.is_empty() || end.starts_with(':') || end.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_tls_only_this_machine_is_asked() {
        assert!(
            is_loopback("http://127.0.0.1:5000")
                && is_loopback("http://localhost")
                && is_loopback("http://[::1]:9000/x")
        );
        assert!(
            !is_loopback("http://127.0.0.1.example.org")
                && !is_loopback("http://localhost@example.org")
        );
        assert!(!is_loopback("http://example.org"));
    }
}
