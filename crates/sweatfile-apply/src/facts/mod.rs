//! Everything that decisions are made from, read once. Apply holds the worktree's lock while it reads; the bytes that
//! are hashed, shown and executed are the same bytes.

mod area_layer;
mod caches;
mod copyable;
pub mod files;
mod gather;
mod layers;
pub mod removal;
mod step_inputs;
mod unapproved_inputs;
mod worktreeinclude;

pub use self::caches::{CacheSource, naming_main, read as read_caches};
pub use self::files::{CurrentEnvFile, read_env_file, source_path};
pub use self::gather::{Facts, SetupRequest, read, require_names};
pub use self::layers::{Layers, LoadOptions, SETTINGS, load as load_layers, load_settings};
pub use self::step_inputs::read as read_inputs;
pub use self::unapproved_inputs::{TrackedFile, read as read_used};
pub use self::worktreeinclude::FILE as INCLUDE_FILE;
