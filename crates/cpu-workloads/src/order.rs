//! What a process has to do, and doing it.

use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use crate::{Failure, Report, cyclic, forks, io, linpack, memory, messaging, spin, wakeup};

/// What a process has to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "kebab-case")]
pub enum Order {
    /// Solves systems of linear equations, and ends by itself.
    Linpack(linpack::Order),
    /// Sends messages between processes or threads, and ends by itself.
    Messaging(messaging::Order),
    /// Wakes threads, and ends by itself.
    Wakeup(wakeup::Order),
    /// Sleeps until moments, and ends by itself.
    Cyclic(cyclic::Order),
    /// Computes until it is told to end.
    Spin(spin::Order),
    /// Streams through memory until it is told to end.
    Memory(memory::Order),
    /// Forks until it is told to end.
    Forks(forks::Order),
    /// Writes files until it is told to end.
    Io(io::Order),
}

impl Order {
    /// Whether it goes on until it is told to end; what ends by itself has not done its work when it is.
    pub fn is_load(&self) -> bool {
        matches!(self, Order::Spin(_) | Order::Memory(_) | Order::Forks(_) | Order::Io(_))
    }
}

/// Does the work; `begun` is called when it has started, and what goes on until it is told so ends when `stop` is set.
///
/// # Errors
/// [`Failure`].
pub fn run(order: &Order, stop: &AtomicBool, begun: impl FnOnce()) -> Result<Report, Failure> {
    begun();
    match order {
        Order::Linpack(order) => linpack::run(order, stop),
        Order::Messaging(order) => messaging::run(order, stop),
        Order::Wakeup(order) => wakeup::run(order, stop),
        Order::Cyclic(order) => cyclic::run(order, stop),
        Order::Spin(order) => spin::run(order, stop),
        Order::Memory(order) => memory::run(order, stop),
        Order::Forks(order) => forks::run(order, stop),
        Order::Io(order) => io::run(order, stop),
    }
}
