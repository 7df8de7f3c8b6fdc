//! Helpers that the tests share: a machine of their own, and set-ups for each tool.

pub mod cluster;
pub mod desk;
pub mod door;
pub mod floor;
pub mod forge;
pub mod host;
pub mod ledger;
pub mod mcp;
pub mod output;
pub mod overlay;
pub mod sandbox;
pub mod spawn;
pub mod sweep;
pub mod worker;
pub mod world;
