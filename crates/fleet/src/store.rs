//! Where results are: a directory, or a bucket that speaks S3's protocol.
//!
//! Both have the same names: `results/HASH.parquet` below the place. A file appears whole or not at
//! all: in a directory by renaming, in a bucket since it is one request. A name that is no result
//! is counted and not read.

use std::path::PathBuf;

use anyhow::{Context, Result};
use bytes::Bytes;
use text::limits::{FLEET_BYTES, FLEET_RESULTS};

use crate::bucket::Bucket;
use crate::directory::Directory;
use crate::entry::{Entry, Listing, Pushed};
use crate::result::MachineResult;

/// The place of a fleet, as the user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A directory.
    Directory(PathBuf),
    /// A bucket and a prefix in it, which may be empty.
    Bucket {
        /// Its name.
        bucket: String,
        /// Without `/` at either end.
        prefix: String,
    },
}

impl Location {
    /// Reads `DIR` or `s3://BUCKET[/PREFIX]`.
    ///
    /// # Errors
    /// What is wrong with it.
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
            return Err(format!("{word}: no name of a bucket (expected s3://BUCKET/PREFIX)"));
        }
        Ok(Location::Bucket {
            bucket: bucket.to_owned(),
            prefix: prefix.trim_matches('/').to_owned(),
        })
    }
}

/// An open store.
#[derive(Debug)]
pub enum Store {
    /// A directory.
    Directory(Directory),
    /// A bucket.
    Bucket(Bucket),
}

impl Store {
    /// Opens a place for reading; `credentials` of a bucket are those of the environment
    /// (AWS_ACCESS_KEY_ID and so on).
    ///
    /// # Errors
    /// It is not there.
    pub fn open(location: &Location) -> Result<Store> {
        match location {
            Location::Directory(path) => Directory::open(path).map(Store::Directory),
            Location::Bucket { bucket, prefix } => Bucket::open(bucket, prefix).map(Store::Bucket),
        }
    }

    /// Opens a place for writing; a directory is made where it is missing.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_to_write(location: &Location) -> Result<Store> {
        match location {
            Location::Directory(path) => Directory::make(path).map(Store::Directory),
            Location::Bucket { .. } => Store::open(location),
        }
    }

    /// The results in it.
    ///
    /// # Errors
    /// They cannot be listed, or are too many.
    pub fn list(&self) -> Result<Listing> {
        let mut listing = match self {
            Store::Directory(directory) => directory.list()?,
            Store::Bucket(bucket) => bucket.list()?,
        };
        listing.entries.sort();
        FLEET_RESULTS.check(listing.entries.len())?;
        Ok(listing)
    }

    /// Reads files, several at a time, and gives each to `each`; what that makes of them comes in
    /// the order of `entries`.
    pub fn read<T: Send>(
        &self,
        entries: &[Entry],
        each: impl Fn(&Entry, Result<Bytes>) -> T + Sync,
    ) -> Vec<T> {
        match self {
            Store::Directory(directory) => directory.read(entries, each),
            Store::Bucket(bucket) => bucket.read(entries, each),
        }
    }

    /// Writes a result, unless it is there.
    ///
    /// # Errors
    /// It cannot be written. Nothing is lost: what was to be pushed is where it was.
    pub fn push(&self, result: &MachineResult) -> Result<Pushed> {
        let (name, bytes) = result.to_file()?;
        self.put(&name, Bytes::from(bytes))
            .with_context(|| format!("{}: cannot be pushed", &name[..12]))
    }

    /// Writes the file of a result, unless it is there.
    ///
    /// # Errors
    /// As [`Store::push`].
    pub fn put(&self, name: &str, bytes: Bytes) -> Result<Pushed> {
        FLEET_BYTES.check(bytes.len())?;
        match self {
            Store::Directory(directory) => directory.put(name, &bytes),
            Store::Bucket(bucket) => bucket.put(name, bytes),
        }
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
