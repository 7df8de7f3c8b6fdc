//! Whether the built site is sound: every link leads somewhere, and no page is wider than the screen.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run::find;

/// The widths of a telephone and of a laptop, in pixels.
const WIDTHS: [usize; 2] = [390, 1280];

/// Looks at each page in a frame, and writes what it sees as the page's text.
const HARNESS: &str = r#"<!doctype html><pre id="seen"></pre><script>
const seen = document.getElementById("seen");
async function look(page, width) {
    const frame = document.createElement("iframe");
    frame.style.cssText = `width: ${width}px; height: 900px`;
    frame.src = page;
    const loaded = new Promise((resolve) => { frame.onload = resolve; });
    document.body.append(frame);
    await loaded;
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const doc = frame.contentDocument;
    const drawn = doc.querySelectorAll("pre.mermaid svg").length;
    const text = doc.querySelectorAll("code.language-mermaid, pre.mermaid").length;
    // Tables and code blocks may scroll by themselves, what contains them may not.
    const boxes = [doc.documentElement, ...doc.querySelectorAll("body, body *:has(main), main")];
    const over = Math.max(...boxes.map((box) => box.scrollWidth - box.clientWidth));
    seen.textContent += `${page} ${width} ${over} ${drawn} ${text}\n`;
    frame.remove();
}
(async () => {
    for (const page of PAGES) for (const width of WIDTHS) await look(page, width);
    seen.textContent += "done\n";
})();
</script>"#;

/// Fails unless each link of each page leads to a file, and each fragment to an element.
pub fn links(site: &Path) -> Result<()> {
    let mut pages: BTreeMap<PathBuf, String> = BTreeMap::new();
    for page in pages_of(site) {
        pages.insert(page.clone(), fs::read_to_string(site.join(page))?);
    }
    let ids: BTreeMap<&Path, BTreeSet<&str>> =
        pages.iter().map(|(page, html)| (page.as_path(), values(html, "id").collect())).collect();
    let mut broken = Vec::new();
    for (page, html) in &pages {
        for link in values(html, "href").chain(values(html, "src")) {
            if link.contains("://") || link.starts_with("mailto:") || link.starts_with("data:") {
                continue;
            }
            let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => page.clone(),
                file => plain(&page.parent().unwrap_or(page).join(file)),
            };
            let exists = site.join(&target).is_file();
            let has = fragment.is_empty() || ids.get(target.as_path()).is_none_or(|ids| ids.contains(fragment));
            if !exists || !has {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    if !broken.is_empty() {
        bail!("broken links:\n  {}", broken.join("\n  "));
    }
    Ok(())
}

/// Every page, relative to the site. The page for all of them at once, and the one for errors, have links of their own.
fn pages_of(site: &Path) -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(site).sort_by_file_name().into_iter().flatten();
    let pages = files.filter_map(|entry| Some(entry.path().strip_prefix(site).ok()?.to_path_buf()));
    let own = ["print.html", "404.html", "toc.html"].map(Path::new);
    pages.filter(|page| page.extension().is_some_and(|e| e == "html") && !own.contains(&page.as_path())).collect()
}

/// The values of an attribute.
fn values<'a>(html: &'a str, attribute: &str) -> impl Iterator<Item = &'a str> {
    let start = format!(" {attribute}=\"");
    let mut rest = html;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&start)?;
        let (value, after) = after.split_once('"')?;
        rest = after;
        Some(value)
    })
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Fails unless each page fits the screens, and each diagram is drawn. Skipped with a notice without Chromium.
pub fn layout(site: &Path, drawn: bool) -> Result<()> {
    let Some(chromium) = ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(find) else {
        eprintln!("xtask: skipped: nobody looked at the pages, because Chromium is not installed");
        return Ok(());
    };
    let pages: Vec<String> = pages_of(site).iter().map(|page| page.display().to_string()).collect();
    let harness = HARNESS.replace("PAGES", &format!("{pages:?}")).replace("WIDTHS", &format!("{WIDTHS:?}"));
    let file = site.join("look.html");
    fs::write(&file, harness)?;
    let profile = tempfile::tempdir().context("cannot create a temporary directory")?;
    let quiet = ["--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update"];
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-sync", "--allow-file-access-from-files"])
        .args(quiet)
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(["--virtual-time-budget=600000", "--dump-dom"])
        .arg(format!("file://{}", file.display()))
        .output();
    fs::remove_file(&file)?;
    let output = output.context("cannot run Chromium")?;
    let dom = String::from_utf8_lossy(&output.stdout);
    let seen = dom.split_once("<pre id=\"seen\">").and_then(|(_, text)| Some(text.split_once("</pre>")?.0));
    let seen = seen.unwrap_or_default();
    if !seen.ends_with("done\n") {
        bail!("Chromium did not look at every page:\n{seen}");
    }
    let mut wrong = Vec::new();
    for line in seen.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [page, width, over, drawings, texts] = words[..] else { continue };
        if over.parse::<i32>().is_ok_and(|over| over > 0) {
            wrong.push(format!("{page} is {over} pixels too wide for a screen of {width}"));
        }
        if drawn && drawings != texts {
            wrong.push(format!("{page}: {drawings} of {texts} diagrams are drawn"));
        }
    }
    if !wrong.is_empty() {
        bail!("pages that cannot be read:\n  {}", wrong.join("\n  "));
    }
    Ok(())
}
