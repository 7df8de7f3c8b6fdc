//! The user's own list of the roots of worker-ctl. The configuration of a root runs commands, and its clone shares files
//! with its source, so only the roots that this list names are used: an agent can make what looks like a root, but
//! cannot write here.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::env::Env;
use crate::error::Result;
use crate::fs;

/// The list, `ROOT<TAB>COMMON` a line; none where there is no place for state.
pub fn file(env: &Env) -> Option<PathBuf> {
    Some(env.state_home()?.join("roots"))
}

/// Reads the list: each root, with the common directory of the repository that it was made for.
pub fn load(env: &Env) -> Result<BTreeMap<PathBuf, PathBuf>> {
    let bytes = file(env).map_or(Ok(None), |file| fs::read_no_follow(&file))?.unwrap_or_default();
    let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    let parse = |line: &[u8]| {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        Some((path(&line[..tab]), path(&line[tab + 1..])))
    };
    Ok(bytes.split(|byte| *byte == b'\n').filter_map(parse).collect())
}
