//! What a fresh worktree can get of the caches of the main checkout.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use shopfloor_core::error::Result;
use shopfloor_core::fs::{CopiedTree, Found, Root};
use shopfloor_core::path::RelPath;
use walkdir::WalkDir;

use crate::cache::Cache;
use crate::layer::MergedLayers;
use crate::worktree::OpenWorktree;

/// The caches that the worktree lacks, each with what is copied, or why it is not.
pub type Caches = BTreeMap<RelPath, std::result::Result<CopiedTree, String>>;
