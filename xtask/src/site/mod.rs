//! `cargo xtask docs`: the site, which mdBook makes of the Markdown in the repository.

mod check;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::registry;
use crate::run::{TOOLS, find, project, target_dir};

const MDBOOK: &str = "0.5.4";
/// What draws the diagrams, from npm.
const MERMAID: &str = "mermaid@12.3.0";

/// The pages beside the reference of each tool, by part: title and file.
const PARTS: [(&str, &[(&str, &str)]); 4] = [
    ("", &[("shopfloor", "README.md"), ("The first hour", "docs/first-hour.md")]),
    (
        "Guides",
        &[
            ("shopfloor: the front door", "docs/shopfloor.md"),
            ("sweatfile-apply", "docs/sweatfile-apply.md"),
            ("overlay-sync", "docs/overlay-sync.md"),
            ("ledger-synth", "docs/ledger-synth.md"),
            ("worktree-spawn", "docs/worktree-spawn.md"),
            ("worker-ctl", "docs/worker-ctl.md"),
            ("Agent programs", "docs/agents.md"),
            ("Recipes", "docs/recipes.md"),
            ("Sandbox", "docs/sandbox.md"),
            ("Hosts over ssh", "docs/hosts.md"),
            ("Troubleshooting", "docs/troubleshooting.md"),
            ("Removing the tools", "docs/uninstall.md"),
            ("What is tested, and how", "docs/trust.md"),
            ("Security: what an agent can write", "docs/security.md"),
            ("Glossary", "docs/glossary.md"),
        ],
    ),
    (
        "Reference",
        &[
            ("Files, exit codes, JSON", "docs/formats.md"),
            ("Benchmarks", "docs/benchmarks.md"),
            ("Scale", "docs/scale.md"),
            ("Weight", "docs/weight.md"),
        ],
    ),
    (
        "The project",
        &[
            ("Architecture", "ARCHITECTURE.md"),
            ("Contributing", "CONTRIBUTING.md"),
            ("Releasing", "docs/releasing.md"),
            ("Changes", "CHANGELOG.md"),
        ],
    ),
];

const BOOK: &str = r#"[book]
title = "shopfloor"
language = "en"
src = "src"

[build]
create-missing = false

[output.html]
no-section-label = true
additional-js = [SCRIPTS]
"#;

/// Draws each diagram in place of its text.
const DRAW: &str = r#"for (const code of document.querySelectorAll("code.language-mermaid")) {
    const drawing = document.createElement("pre");
    drawing.className = "mermaid";
    drawing.textContent = code.textContent;
    code.parentElement.replaceWith(drawing);
}
mermaid.initialize({ theme: "neutral" });
"#;

#[derive(clap::Args)]
pub struct Args {
    /// Also check every link, and look at each page in Chromium, 390 and 1280 pixels wide
    #[arg(long)]
    check: bool,
}

/// Builds the site, and prints its path.
pub fn run(args: &Args) -> Result<()> {
    let book = target_dir().join("book");
    let src = book.join("src");
    if src.exists() {
        fs::remove_dir_all(&src).with_context(|| format!("cannot empty {}", src.display()))?;
    }
    let files = files()?;
    for file in &files {
        let to = src.join(file);
        fs::create_dir_all(to.parent().unwrap_or(&to))?;
        fs::copy(project().join(file), &to).with_context(|| format!("cannot copy {}", file.display()))?;
    }
    fs::write(src.join("SUMMARY.md"), summary(&files)?)?;
    let scripts = match mermaid(&book)? {
        true => "\"mermaid.min.js\", \"draw.js\"",
        false => "",
    };
    fs::write(book.join("draw.js"), DRAW)?;
    fs::write(book.join("book.toml"), BOOK.replace("SCRIPTS", scripts))?;
    let site = target_dir().join("site");
    let mdbook = registry::program("mdbook", MDBOOK, "search")?;
    let status = Command::new(mdbook).args(["build", "--dest-dir"]).args([&site, &book]).status();
    if !status.context("cannot run mdbook")?.success() {
        bail!("mdbook failed");
    }
    if args.check {
        check::links(&site)?;
        check::layout(&site, !scripts.is_empty())?;
    }
    println!("{}", site.join("index.html").display());
    Ok(())
}

/// What the site shows, relative to the project.
fn files() -> Result<BTreeSet<PathBuf>> {
    let mut files: BTreeSet<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(PathBuf::from).into();
    for dir in ["docs", "docs/cli"] {
        for entry in fs::read_dir(project().join(dir))? {
            let name = PathBuf::from(entry?.file_name());
            if name.extension().is_some_and(|extension| extension == "md" || extension == "svg") {
                files.insert(Path::new(dir).join(name));
            }
        }
    }
    Ok(files)
}

/// The table of contents. Fails if a page is missing in it.
fn summary(files: &BTreeSet<PathBuf>) -> Result<String> {
    let mut summary = String::from("# Summary\n");
    for (part, pages) in PARTS {
        if !part.is_empty() {
            summary += &format!("\n# {part}\n\n");
        }
        let bullet = if part.is_empty() { "" } else { "- " };
        for (title, file) in pages {
            summary += &format!("{bullet}[{title}]({file})\n");
        }
        if part == "Reference" {
            for tool in TOOLS {
                summary += &format!("- [Options of {tool}](docs/cli/{tool}.md)\n");
            }
        }
    }
    for page in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "md")) {
        if !summary.contains(&format!("({})", page.display())) {
            bail!("{} is missing in PARTS of {}", page.display(), file!());
        }
    }
    Ok(summary)
}

/// Fetches what draws the diagrams. Returns false, with a notice, where npm is missing or has no network.
fn mermaid(book: &Path) -> Result<bool> {
    let script = book.join("mermaid.min.js");
    if script.is_file() {
        return Ok(true);
    }
    let skip = |why: &str| {
        eprintln!("xtask: skipped: diagrams stay text, because {why}");
        Ok(false)
    };
    if find("npm").is_none() {
        return skip("npm is missing");
    }
    let dir = tempfile::tempdir().context("cannot create a temporary directory")?;
    let packed = Command::new("npm").args(["pack", "--silent", MERMAID]).current_dir(dir.path()).output()?;
    if !packed.status.success() {
        return skip("npm did not give mermaid");
    }
    let archive = String::from_utf8_lossy(&packed.stdout).trim().to_owned();
    let member = "package/dist/mermaid.min.js";
    let unpacked = Command::new("tar").args(["-xzf", &archive, member]).current_dir(dir.path()).status();
    if !unpacked.context("cannot run tar")?.success() {
        bail!("cannot unpack {archive}");
    }
    fs::copy(dir.path().join(member), &script)?;
    Ok(true)
}
