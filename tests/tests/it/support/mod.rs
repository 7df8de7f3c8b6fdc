//! What the tests stand on: a machine of their own, and the scenes of each tool.

pub mod floor;
pub mod ledger;
pub mod output;
pub mod overlay;
pub mod spawn;
pub mod sweep;
pub mod worker;
pub mod world;
