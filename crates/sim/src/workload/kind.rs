//! Methods of a workload row: parsing, checks, layout, clients, description. Nothing here matches
//! on a workload's name.

use serde::Serialize;

use crate::workload::client::Client;
use crate::workload::contracted::Contracted;
use crate::workload::flows;
use crate::workload::param_table::{ParamError, param};
use crate::workload::row::{Extent, Layout, Params, Seat, WorkloadKind};
use crate::workload::timed::task_set::Task;
use crate::workload::timed::tasks::tightest;
use text::format_size;

const GAP: u64 = 1 << 20;
/// Bounds that keep a typo from using all memory.
const MAX_CLIENTS: u32 = 1024;
const MAX_IODEPTH: u32 = 4096;
const MAX_OPEN: u64 = 1 << 16;
const MAX_BLOCK: u32 = 64 << 20;
const MAX_IN_FLIGHT: u64 = 1 << 30;
const MAX_RECORDS: u64 = 16 << 20;
const MAX_FILE: u64 = 1 << 50;

/// No workload has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("workload {name:?}: unknown name (expected one of {}){}", .known.join(", "), text::suggestion(*.nearest))]
pub struct UnknownWorkload {
    /// The name as written.
    pub name: String,
    /// The closest known name.
    pub nearest: Option<&'static str>,
    /// All names.
    pub known: Vec<&'static str>,
}

impl WorkloadKind {
    /// Applies and checks parameters. Later pairs win.
    ///
    /// # Errors
    /// An unknown key, an unreadable text or an impossible value.
    pub fn params<'a>(
        &'static self,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Params, ParamError> {
        let mut params = (self.defaults)();
        for (key, text) in pairs {
            let row =
                param(key).filter(|row| self.accepts.contains(&row.name)).ok_or_else(|| {
                    ParamError::NoSuchKey {
                        workload: self.name,
                        key: key.into(),
                        accepted: self.accepts.to_vec(),
                    }
                })?;
            if !(row.set)(&mut params, text) {
                let (workload, key, text) = (self.name, row.name, text.into());
                return Err(ParamError::Unreadable { workload, key, text, form: row.form });
            }
        }
        self.check(&params)?;
        Ok(params)
    }

    /// Returns the accepted parameters as text, for results.
    pub fn show(&self, params: &Params) -> Vec<(&'static str, String)> {
        self.accepts
            .iter()
            .map(|&name| (name, (param(name).expect("accepts names rows of PARAMS").get)(params)))
            .collect()
    }

    /// Checks what does not depend on the target.
    pub fn check(&self, params: &Params) -> Result<(), ParamError> {
        let clients = self.clients(params);
        self.ensure(params.writers > 0, || "writers = 0 (expected at least 1)".into())?;
        self.ensure((1..=MAX_CLIENTS).contains(&clients), || {
            format!("{clients} clients: out of range (expected 1 to {MAX_CLIENTS})")
        })?;
        self.ensure((1..=MAX_IODEPTH).contains(&params.iodepth), || {
            format!("iodepth = {}: out of range (expected 1 to {MAX_IODEPTH})", params.iodepth)
        })?;
        for (name, size) in self.request_sizes(params) {
            self.ensure((512..=MAX_BLOCK).contains(&size), || {
                let (size, max) = (format_size(size.into()), format_size(MAX_BLOCK.into()));
                format!("{name} = {size}: out of range (expected 512 bytes to {max})")
            })?;
        }
        let open = u64::from(clients) * u64::from(params.iodepth);
        self.ensure(open <= MAX_OPEN, || {
            format!(
                "{clients} clients × iodepth {} is {open} open requests (expected at most {MAX_OPEN})",
                params.iodepth
            )
        })?;
        let in_flight = u64::from(self.max_request(params)) * u64::from(params.iodepth);
        self.ensure(in_flight <= MAX_IN_FLIGHT, || {
            format!(
                "iodepth × request size is {}: at most {} can be in flight",
                format_size(in_flight),
                format_size(MAX_IN_FLIGHT)
            )
        })?;
        self.ensure(params.read_share <= 100, || {
            format!("read_share = {}: 0 to 100 percent", params.read_share)
        })?;
        self.ensure(params.file_size.is_none_or(|size| size <= MAX_FILE), || {
            format!("file_size: too large (expected at most {})", format_size(MAX_FILE))
        })?;
        self.ensure(params.amount != Some(0), || {
            "amount = 0: a client that does nothing has no rate".into()
        })?;
        let (small, large) = (params.block_size, params.block_size_max);
        let doublings = large.is_multiple_of(small) && (large / small).is_power_of_two();
        self.ensure(!self.takes("block_size_max") || doublings, || {
            let (small, large) = (format_size(small.into()), format_size(large.into()));
            format!("block_size_max = {large} must be block_size = {small} times a power of two")
        })?;
        self.own((self.possible)(params))
    }

    /// Checks what depends on the target; returns each client's place. Both lengths are in bytes:
    /// of the device or shared file, and of its addressable unit.
    pub fn extents(
        &self,
        params: &Params,
        target_len: u64,
        logical_block: u32,
    ) -> Result<Vec<Extent>, ParamError> {
        self.check(params)?;
        self.check_alignment(params, logical_block)?;
        if !params.flows.is_empty() {
            return flows::extents(params, target_len, logical_block);
        }
        let clients = self.clients(params);
        let len = match self.layout {
            Layout::Shared => params.file_size.unwrap_or(target_len),
            Layout::FilePerClient => self.own_file_size(params),
        };
        self.check_file(params, len)?;
        let stride = match self.layout {
            Layout::Shared => 0,
            Layout::FilePerClient => (len + GAP).next_multiple_of(GAP),
        };
        let extents =
            (0..clients).map(|index| Extent { base: u64::from(index) * stride, len }).collect();
        let needed = u64::from(clients - 1) * stride + len;
        self.ensure(needed <= target_len, || {
            let (needed, there) = (format_size(needed), format_size(target_len));
            format!(
                "needs {needed} but the target has {there}: give a larger target, a smaller file_size or fewer clients"
            )
        })?;
        Ok(extents)
    }

    /// Sizes of the files in a directory: one shared, or one per client.
    ///
    /// # Errors
    /// Also if file_size is `all`: a directory has no size.
    pub fn file_sizes(&self, params: &Params, logical_block: u32) -> Result<Vec<u64>, ParamError> {
        self.check(params)?;
        self.check_alignment(params, logical_block)?;
        if !params.flows.is_empty() {
            let sizes =
                params.flows.iter().map(|flow| flow.kind.file_sizes(&flow.params, logical_block));
            return sizes.collect::<Result<Vec<_>, _>>().map(|sizes| sizes.concat());
        }
        self.ensure(params.file_size.is_some() || self.layout == Layout::FilePerClient, || {
            "in a directory the files need a size: give file_size, e.g. file_size = 1G".into()
        })?;
        let len = params.file_size.unwrap_or_else(|| self.own_file_size(params));
        self.check_file(params, len)?;
        let files = if self.layout == Layout::FilePerClient { self.clients(params) } else { 1 };
        Ok(vec![len; files as usize])
    }

    /// Returns the number of clients.
    pub fn clients(&self, params: &Params) -> u32 {
        (self.nr_clients)(params)
    }

    /// The I/O depth of client `index`.
    pub fn iodepth(&self, params: &Params, index: u32) -> u32 {
        (self.depth)(params, index)
    }

    /// Whether it writes with these parameters.
    pub fn writes_with(&self, params: &Params) -> bool {
        (self.writing)(params)
    }

    /// Steps depend on time or completions, so they cannot be generated ahead.
    pub fn is_timed(&self, params: &Params) -> bool {
        (self.timed)(params) || params.contract.is_some()
    }

    /// The tasks with the least time for their bytes; empty for most rows.
    pub fn tightest_tasks(&self, params: &Params) -> Vec<(String, Task)> {
        if self.takes("deadline_min") { tightest(params) } else { Vec::new() }
    }

    /// Whether it warms up: not with one-time passes, a given amount, or buffered writes
    /// ([`WorkloadKind::flushes_at_end`]).
    pub fn warms_up_with(&self, params: &Params) -> bool {
        self.warms_up && params.amount.is_none() && !self.flushes_at_end(params)
    }

    /// Whether clients flush their writes within the measured time.
    pub fn flushes_at_end(&self, params: &Params) -> bool {
        !params.direct && self.writes_with(params)
    }

    /// Whether it replays a trace. The caller then reads `params.replay.file`, makes a
    /// [`trace::replay::Replay`] with `params.replay.options()` and passes it to
    /// [`Params::with_trace`] before calling [`WorkloadKind::extents`] or
    /// [`WorkloadKind::file_sizes`]: this crate reads no files.
    pub fn needs_trace(&self) -> bool {
        self.takes("file")
    }

    /// The largest request in bytes.
    pub fn max_request(&self, params: &Params) -> u32 {
        self.request_sizes(params)
            .into_iter()
            .map(|(_, size)| size)
            .max()
            .expect("block_size is always there")
    }

    /// The largest request of client `index` in bytes.
    pub fn max_request_of(&self, params: &Params, index: u32) -> u32 {
        let own = if self.needs_trace() { params.replay.largest_of(index) } else { None };
        own.unwrap_or_else(|| self.max_request(params))
    }

    /// Bytes of all requests that can be open at once.
    pub fn buffer_bytes(&self, params: &Params) -> u64 {
        let of = |index| {
            u64::from(self.max_request_of(params, index)) * u64::from(self.iodepth(params, index))
        };
        (0..self.clients(params)).map(of).fold(0, u64::saturating_add)
    }

    /// The parameters must have passed [`WorkloadKind::extents`] or [`WorkloadKind::file_sizes`];
    /// equal arguments give equal steps.
    pub fn client(&self, params: &Params, seat: Seat) -> Box<dyn Client + Send> {
        assert!(seat.index < seat.count, "client {} of {}", seat.index, seat.count);
        assert!(
            self.check_file(params, seat.len).is_ok(),
            "the region must hold a request: check before building"
        );
        let client = (self.build)(params, seat);
        match params.contract {
            Some(contract) => Box::new(Contracted::new(client, contract)),
            None => client,
        }
    }

    /// The row as data.
    pub fn describe(&self) -> Described {
        let defaults = (self.defaults)();
        let described = |name: &&'static str| {
            let row = param(name).expect("accepts names rows of PARAMS");
            DescribedParam {
                name: row.name,
                default: (row.get)(&defaults),
                form: row.form,
                help: row.help,
            }
        };
        Described {
            name: self.name,
            help: self.help,
            writes: self.writes,
            reaches_device: self.reaches_device,
            primary: self.primary,
            layout: self.layout,
            params: self.accepts.iter().map(described).collect(),
        }
    }

    fn takes(&self, name: &str) -> bool {
        self.accepts.contains(&name)
    }

    fn request_sizes(&self, params: &Params) -> Vec<(&'static str, u32)> {
        if !params.flows.is_empty() {
            return vec![("the flows' largest request", flows::max_request(params))];
        }
        if self.needs_trace() {
            return vec![("the trace's largest request", params.replay.largest_request())];
        }
        let mut sizes = vec![("block_size", params.block_size)];
        if self.takes("block_size_max") {
            sizes.push(("block_size_max", params.block_size_max));
        }
        if self.takes("write_size") {
            sizes.push(("write_size", params.write_size));
        }
        if self.takes("background_size") {
            sizes.push(("background_size", params.timed.background_size));
            let tasks = params.timed.set.iter().flat_map(|set| &set.0);
            sizes.extend(tasks.map(|task| ("set", task.len)));
        }
        if self.takes("read_block") {
            let (read, write) = params.postmark.requests(params.block_size);
            sizes.extend([("read_block", read), ("write_block", write)]);
        }
        sizes
    }

    fn own_file_size(&self, params: &Params) -> u64 {
        params
            .file_size
            .or((self.defaults)().file_size)
            .expect("a workload with a file per client has a default size")
    }

    /// Direct I/O transfers whole logical blocks only.
    pub(crate) fn check_alignment(
        &self,
        params: &Params,
        logical_block: u32,
    ) -> Result<(), ParamError> {
        if !params.direct {
            return Ok(());
        }
        for (name, size) in self.request_sizes(params) {
            self.ensure(size.is_multiple_of(logical_block), || {
                let size = format_size(size.into());
                format!(
                    "{name} = {size} is not a multiple of the target's block of {logical_block} bytes, as direct I/O needs"
                )
            })?;
        }
        self.own((self.check_alignment)(params, logical_block))
    }

    /// A region holds at least one request per stream, and permutations fit in memory.
    fn check_file(&self, params: &Params, len: u64) -> Result<(), ParamError> {
        let largest = u64::from(self.max_request(params));
        self.ensure(len >= largest, || {
            format!("a region of {} holds no request of {}", format_size(len), format_size(largest))
        })?;
        self.ensure(
            !self.takes("phase") || len / u64::from(params.block_size) <= MAX_RECORDS,
            || format!("file_size / block_size: too many records in a file (expected at most {MAX_RECORDS})"),
        )?;
        self.own((self.fits)(params, len))
    }

    fn own(&self, checked: Result<(), String>) -> Result<(), ParamError> {
        checked.map_err(|problem| ParamError::Impossible { workload: self.name, problem })
    }

    fn ensure(&self, holds: bool, problem: impl FnOnce() -> String) -> Result<(), ParamError> {
        if holds {
            Ok(())
        } else {
            Err(ParamError::Impossible { workload: self.name, problem: problem() })
        }
    }
}

/// A row of the table as data, for lists, help or JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Described {
    /// The name.
    pub name: &'static str,
    /// One line of meaning.
    pub help: &'static str,
    /// Whether it can write.
    pub writes: bool,
    /// Whether its I/O can reach a device.
    pub reaches_device: bool,
    /// The primary metric.
    pub primary: &'static str,
    /// Placement of clients.
    pub layout: Layout,
    /// Accepted parameters.
    pub params: Vec<DescribedParam>,
}

/// A parameter of a workload as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DescribedParam {
    /// The key.
    pub name: &'static str,
    /// The default value.
    pub default: String,
    /// The form of a value.
    pub form: &'static str,
    /// One line of meaning.
    pub help: &'static str,
}
