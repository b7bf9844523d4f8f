//! The pages, the book and SECURITY.md, and what holds of the whole tree.

mod book;
mod budgets;
mod prose;
mod security;
mod workspace;
