//! Requests for tests of the workspace, and a table of them.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use crate::request::BlockRequest;
use crate::scheduler::{Disk, Elevator, InsertAt};
use crate::vocabulary::Time;

/// 8 sectors by process 0 at time 0; `seq` equals the tag.
#[must_use]
pub fn request(tag: u32, sector: u64) -> BlockRequest {
    let seq = u64::from(tag);
    BlockRequest { tag, seq, sector, nr_sectors: 8, sync: true, ..BlockRequest::default() }
}

/// An elevator with the table of requests that a queue keeps for it.
#[derive(Debug)]
pub struct Keeper<E: ?Sized = dyn Elevator> {
    elevator: Box<E>,
    requests: BTreeMap<u32, BlockRequest>,
}

impl<E: Elevator + ?Sized> Keeper<E> {
    pub fn new(elevator: Box<E>) -> Keeper<E> {
        Keeper { elevator, requests: BTreeMap::new() }
    }

    pub fn insert(&mut self, now: Time, request: BlockRequest, at: InsertAt) {
        self.requests.insert(request.tag, request);
        self.elevator.insert(now, &request, at);
    }

    pub fn request(&self, tag: u32) -> BlockRequest {
        self.requests[&tag]
    }

    pub fn dispatch(&mut self, now: Time, disk: &dyn Disk) -> Option<BlockRequest> {
        self.elevator.dispatch(now, disk).map(|tag| self.request(tag))
    }

    pub fn merged(&mut self, now: Time, before: &BlockRequest, after: &BlockRequest) {
        self.requests.insert(after.tag, *after);
        self.elevator.merged(now, before, after);
    }
}

impl<E: ?Sized> Deref for Keeper<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.elevator
    }
}

impl<E: ?Sized> DerefMut for Keeper<E> {
    fn deref_mut(&mut self) -> &mut E {
        &mut self.elevator
    }
}
