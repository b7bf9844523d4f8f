//! The pages, the book and SECURITY.md, and what holds of the whole tree.

mod book;
mod security;
mod workspace;
