//! The store of results: a directory, or an S3-compatible bucket.
//!
//! Both contain `results/HASH.parquet`. A file appears complete or not at all: by renaming, or by a
//! single request. Other names are counted and not read.

use std::path::PathBuf;

#[cfg(not(feature = "s3"))]
use anyhow::bail;
use anyhow::{Context, Result};
use bytes::Bytes;
use text::limits::{FLEET_BYTES, FLEET_RESULTS};

#[cfg(feature = "s3")]
use crate::bucket::Bucket;
use crate::directory::Directory;
use crate::entry::{Entry, Listing, Pushed};
use crate::result::MachineResult;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    Directory(PathBuf),
    Bucket {
        bucket: String,
        /// Prefix without `/` at either end.
        prefix: String,
    },
}

impl Location {
    /// Parses `DIR` or `s3://BUCKET[/PREFIX]`; the error states the problem.
    pub fn parse(word: &str) -> Result<Location, String> {
        let Some((scheme, rest)) = word.split_once("://") else {
            return if word.is_empty() {
                Err("fleet: no place (expected a directory or s3://BUCKET/PREFIX)".to_owned())
            } else {
                Ok(Location::Directory(PathBuf::from(word)))
            };
        };
        if scheme != "s3" {
            return Err(format!(
                "{word}: unknown scheme {scheme:?} (expected s3://BUCKET/PREFIX, or a directory)"
            ));
        }
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let plain = |c: char| {
            c.is_ascii_lowercase()
                || c.is_ascii_digit()
                || ".-_".contains(c)
                || c.is_ascii_uppercase()
        };
        if bucket.is_empty() || !bucket.chars().all(plain) {
            return Err(format!("{word}: no bucket name (expected s3://BUCKET/PREFIX)"));
        }
        Ok(Location::Bucket {
            bucket: bucket.to_owned(),
            prefix: prefix.trim_matches('/').to_owned(),
        })
    }
}

#[derive(Debug)]
pub enum Store {
    Directory(Directory),
    #[cfg(feature = "s3")]
    Bucket(Bucket),
}

impl Store {
    /// A bucket's credentials are in the environment (AWS_ACCESS_KEY_ID and so on).
    pub fn open(location: &Location) -> Result<Store> {
        match location {
            Location::Directory(path) => Directory::open(path).map(Store::Directory),
            #[cfg(feature = "s3")]
            Location::Bucket { bucket, prefix } => Bucket::open(bucket, prefix).map(Store::Bucket),
            #[cfg(not(feature = "s3"))]
            Location::Bucket { bucket, .. } => bail!(
                "s3://{bucket}: this build of schedlab has no client for buckets; use a directory, \
                 or build it with `make release FEATURES=s3`"
            ),
        }
    }

    /// Creates a missing directory.
    pub fn open_to_write(location: &Location) -> Result<Store> {
        match location {
            Location::Directory(path) => Directory::make(path).map(Store::Directory),
            Location::Bucket { .. } => Store::open(location),
        }
    }

    pub fn list(&self) -> Result<Listing> {
        let mut listing = match self {
            Store::Directory(directory) => directory.list()?,
            #[cfg(feature = "s3")]
            Store::Bucket(bucket) => bucket.list()?,
        };
        listing.entries.sort();
        FLEET_RESULTS.check(listing.entries.len())?;
        Ok(listing)
    }

    /// Reads concurrently; the output is in the order of `entries`.
    pub fn read<T: Send>(
        &self,
        entries: &[Entry],
        each: impl Fn(&Entry, Result<Bytes>) -> T + Sync,
    ) -> Vec<T> {
        match self {
            Store::Directory(directory) => directory.read(entries, each),
            #[cfg(feature = "s3")]
            Store::Bucket(bucket) => bucket.read(entries, each),
        }
    }

    /// Writes a result unless it exists.
    pub fn push(&self, result: &MachineResult) -> Result<Pushed> {
        let (name, bytes) = result.to_file()?;
        self.put(&name, Bytes::from(bytes))
            .with_context(|| format!("{}: cannot be pushed", &name[..12]))
    }

    /// Writes a result's file unless it exists.
    pub fn put(&self, name: &str, bytes: Bytes) -> Result<Pushed> {
        FLEET_BYTES.check(bytes.len())?;
        match self {
            Store::Directory(directory) => directory.put(name, &bytes),
            #[cfg(feature = "s3")]
            Store::Bucket(bucket) => bucket.put(name, bytes),
        }
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
