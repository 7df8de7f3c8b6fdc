//! Everything a command reads: which overlay, which workspaces, what is in them, and what an id names.

pub mod file_view;
pub mod fingerprint;
pub mod ignored;
pub mod overlay;
pub mod versions;
