//! `convert`: prints a sweatfile of the newer format in ours.

use std::path::PathBuf;

use shopfloor_core::approval::ApprovalStatus;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::Git;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::show::printable_toml;
use crate::flags::LayerFlags;
use crate::layer::{FILE, Layer, LayerName, LayerText, merge};
use crate::newer_format;
use crate::sweatfile::{ParsedSweatfile, parse};

/// Print a sweatfile of the newer format, with `[hooks]` and `[direnv]`, as one that counts here
///
/// Changes nothing. What has no place here is printed as comments. Read what comes out before you put it in its place.
/// Exits with 1 if the sweatfile has nothing of the newer format.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  sweatfile-apply convert > sweatfile.new && diff sweatfile sweatfile.new")]
pub struct Args {
    /// The sweatfile [default: the repository's]
    file: Option<PathBuf>,
}

pub fn run(ui: &Ui, env: &Env, dirs: &LayerFlags, args: &Args) -> Result<Exit> {
    let path = match &args.file {
        Some(file) => env.cwd.join(file),
        None => dirs.repo_root(env, &Git::find(env)?.discover()?).join(FILE),
    };
    let shown = printable(&path.display().to_string());
    let Some(bytes) = fs::read_text(&path)? else { return Err(Failure::malformed(format!("there is no {shown}"))) };
    let text = String::from_utf8_lossy(&bytes);
    let Some(converted) = newer_format::convert(&text) else {
        if let Some(problem) = parse(&bytes).problems.first() {
            return Err(Failure::malformed(format!("{shown}:{}: {}", problem.at, printable(&problem.text))));
        }
        return Err(Failure::new(Exit::No, "nothing_to_convert", format!("{shown} has nothing of the newer format")));
    };
    for problem in parse(&bytes).problems {
        ui.warn(format!("{shown}:{}: {}", problem.at, printable(&problem.text)));
    }
    let sweatfile = converted.sweatfile;
    let parsed = ParsedSweatfile { sweatfile: sweatfile.clone(), ..ParsedSweatfile::default() };
    let text = Some(LayerText { bytes: Vec::new(), parsed });
    let layer = Layer { name: LayerName::Repo, path, text, approval: ApprovalStatus::None };
    let table = sweatfile.with_clears(merge([layer].iter()).to_toml(|_, text| PathBuf::from(text), str::to_owned));
    let printed = toml::to_string_pretty(&table).map_err(|e| Failure::failed("cannot print it").because(e))?;
    for problem in parse(printed.as_bytes()).problems {
        ui.warn(format!("line {}: {}", problem.at.line, printable(&problem.text)));
    }
    ui.answer(printable_toml(&printed).as_bytes());
    if !converted.rest.is_empty() {
        ui.answer(b"\n# These have no place here:\n");
        converted.rest.iter().for_each(|line| ui.line(format!("# {}", printable(line))));
    }
    Ok(Exit::Done)
}
