//! Typing a text into an agent's terminal: whole, once, and to nobody else.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;
use shopfloor_core::proc;

use super::{Tmux, Typist};
use crate::agent::{AgentTable, Paste};
use crate::layout;
use crate::receipt;
use crate::worker::Worker;

/// What is known of a delivery that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The agent has it: its own hook said so, or it was started with it.
    Delivered,
    /// It was typed; whether it was read nobody confirms.
    Sent,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Delivered => "delivered",
            Verdict::Sent => "sent",
        }
    }
}

/// The kind of failure of a delivery of which nothing was typed.
pub const NOT: &str = "not_delivered";

/// The kind of one of which something was typed.
const BEGUN: &str = "in_doubt";

/// The longest text that is passed as an argument.
pub const LONGEST_ARGUMENT: usize = 100 << 10;

/// What can be typed: UTF-8 without NUL, not blank. Control characters fall out, but for line ends and tabs: an escape
/// sequence could end the paste, and the rest would be keys. Exit 2.
pub fn cleaned(bytes: Vec<u8>) -> Result<String> {
    if bytes.contains(&0) {
        return Err(Failure::malformed("the text contains a NUL byte"));
    }
    let text = String::from_utf8(bytes).map_err(|_| Failure::malformed("the text is not UTF-8"))?;
    let text = typable(&text);
    if text.trim().is_empty() {
        return Err(Failure::usage("the text is empty").hint("say what is to be done"));
    }
    Ok(text)
}

/// A text without what would be keys.
pub fn typable(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        kept.push(c);
        // Whole sequences go, not their first character alone; what is left may end in the half of one again.
        if let Some(mark) = PASTES.iter().find(|mark| kept.ends_with(*mark)) {
            kept.truncate(kept.len() - mark.len());
        }
    }
    kept.retain(|c| matches!(c, '\n' | '\t') || !c.is_control());
    kept
}

/// What a terminal puts around a paste.
const PASTES: [&str; 2] = ["\u{1b}[200~", "\u{1b}[201~"];

/// The kind of one that waits for a person: nothing was typed.
pub const OCCUPIED: &str = "occupied";

/// Whether a failed delivery left everything as it was.
pub fn is_nothing_typed(failure: &Failure) -> bool {
    [NOT, OCCUPIED].contains(&failure.kind)
}

/// Exit 1 where a person types into a pane: our text and our Enter would get into theirs.
pub fn require_free(tmux: &Tmux, worker: &str, pane: &str) -> Result<()> {
    let Some(Typist { client, secs }) = tmux.typist(pane)? else { return Ok(()) };
    let ago = if secs <= 0 { "just now".to_owned() } else { format!("{secs} s ago") };
    let why = format!("nothing was typed to {worker}: somebody at {client} typed there {ago}");
    Err(Failure::new(Exit::No, OCCUPIED, why)
        .hint("run the same command once they are done, or with `--force`, which types all the same"))
}

/// A text that is ready to be typed.
#[derive(Debug)]
pub struct Ready {
    pane: String,
    buffer: String,
    text: String,
    has_hook: bool,
    /// Whether it is typed although a person may be at it.
    is_forced: bool,
}

/// Why nothing was typed: exit 4, whatever hindered it.
pub fn not_delivered(worker: &str, failure: Failure) -> Failure {
    if [NOT, OCCUPIED, BEGUN].contains(&failure.kind) {
        return failure;
    }
    Failure::new(Exit::Failed, NOT, format!("nothing was typed to {worker}: {}", failure.message))
        .details(failure.causes())
        .hint(format!("look at it with `worker-ctl peek {worker}`, bring it up with `worker-ctl up {worker}`"))
}

/// In which circumstances a text is typed.
#[derive(Clone, Copy, Debug)]
pub struct TypingOptions {
    /// The program is to forget what it was at before.
    pub is_fresh: bool,
    /// A person overrules that somebody types there.
    pub is_forced: bool,
}

/// Everything that may fail before the first byte of a text is typed: the worker's own program still runs in its pane, the
/// text is in a buffer of tmux. Its command for a fresh start is typed where one is wanted.
pub fn prepare(
    tmux: &Tmux,
    root: &Path,
    worker: &Worker,
    agent: &AgentTable,
    text: &str,
    options: TypingOptions,
) -> Result<Ready> {
    let not = |why: &str| Failure::failed(why);
    let pane = tmux.pane_of(worker)?.ok_or_else(|| not("its session is gone"))?;
    if pane.end.is_some() {
        return Err(not("its program has ended"));
    }
    if pane.path.ends_with(" (deleted)") {
        return Err(not("the directory it works in is gone"));
    }
    if worker.pane_pid.is_some_and(|pid| pid != pane.pid) {
        return Err(not("another program runs in its session"));
    }
    let text = match agent.paste {
        Paste::File => pointer(&in_file(root, &worker.name, text)?),
        _ => text.to_owned(),
    };
    // A name of its own: with a shared one workers get each other's texts.
    let unique = Digest::random().to_string();
    let buffer = format!("worker-ctl-{}", &unique[..16]);
    let has_hook = receipt::load(root, &worker.name).is_some();
    receipt::forget(root, &worker.name)?;
    if options.is_fresh {
        clear(tmux, &pane.id, agent).map_err(|failure| Failure::new(Exit::Failed, BEGUN, failure.message))?;
    }
    let loaded = tmux.feed(&["load-buffer", "-b", &buffer, "-"], text.clone().into_bytes())?;
    if !loaded.status.success() {
        return Err(not("tmux took no text"));
    }
    Ok(Ready { pane: pane.id, buffer, text, has_hook, is_forced: options.is_forced })
}

/// Types it into the worker's pane, then Enter as a key of its own. In doubt nothing is ever typed twice; a signal does not
/// come in between.
pub fn deliver(tmux: &Tmux, root: &Path, worker: &Worker, agent: &AgentTable, ready: Ready) -> Result<Verdict> {
    let Ready { pane, buffer, text, has_hook, is_forced } = ready;
    // Once more: what came before may have taken its time. From here on it is a matter of milliseconds.
    if !is_forced && let Err(occupied) = require_free(tmux, &worker.name, &pane) {
        tmux.run(&["delete-buffer", "-b", &buffer])?;
        return Err(occupied);
    }
    let _whole = proc::defer_signals();
    let paste: &[&str] = match agent.paste {
        Paste::Lines => &["paste-buffer", "-d", "-b", &buffer, "-t", &pane],
        _ => &["paste-buffer", "-p", "-d", "-b", &buffer, "-t", &pane],
    };
    let pasted = tmux.keys(&pane, paste)?;
    if !pasted.status.success() {
        tmux.run(&["delete-buffer", "-b", &buffer])?;
        return Err(not_delivered(&worker.name, Failure::failed("tmux could not paste")));
    }
    thread::sleep(debounce(text.len()));
    if !is_forced && let Some(Typist { client, .. }) = tmux.typist(&pane)? {
        // Their keys stand behind our text: what becomes of both is theirs to say.
        let name = &worker.name;
        let why = format!("the text for {name} stands in its input line, not submitted: somebody types at {client}");
        return Err(Failure::new(Exit::No, BEGUN, why).hint(format!("submit or clear it: `worker-ctl attach {name}`")));
    }
    submit(tmux, &pane, agent)?;
    Ok(match has_hook {
        true if receipt::confirms(root, &worker.name, &text) => Verdict::Delivered,
        _ => Verdict::Sent,
    })
}

/// Removes the texts that a worker was given in files: its task is over.
pub fn forget_files(root: &Path, worker: &str) -> Result<()> {
    let dir = layout::prompts(root);
    let prefix = format!("{worker}-");
    // The rest of the name is a hash, so that no other worker's begins like that.
    let is_its = |name: &str| {
        let hash = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(".md"));
        hash.is_some_and(|hash| hash.len() == 12 && hash.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    let names = fs::list(&dir)?;
    names.iter().filter(|name| name.to_str().is_some_and(is_its)).try_for_each(|name| fs::remove(&dir.join(name)))
}

/// A text in a file of its own, for who cannot be given it otherwise.
pub fn in_file(root: &Path, worker: &str, text: &str) -> Result<PathBuf> {
    let digest = Digest::of(text.as_bytes()).to_string();
    let file = layout::prompts(root).join(format!("{worker}-{}.md", &digest[..12]));
    fs::create_private_dir(&layout::prompts(root))?;
    fs::replace(&file, text.as_bytes(), Some(fs::PRIVATE))?;
    Ok(file)
}

/// The line that tells of such a file.
pub fn pointer(file: &Path) -> String {
    format!("Read {} and do what it says.", file.display())
}

/// A fresh start, for programs that have a command for it.
pub fn clear(tmux: &Tmux, pane: &str, agent: &AgentTable) -> Result<()> {
    let Some(clear) = &agent.clear else { return Ok(()) };
    let typed = tmux.keys(pane, &["send-keys", "-t", pane, "-l", "--", clear])?;
    if !typed.status.success() {
        return Err(Failure::failed("tmux takes no keys"));
    }
    thread::sleep(debounce(clear.len()));
    submit(tmux, pane, agent)?;
    thread::sleep(debounce(clear.len()));
    Ok(())
}

/// The key that submits; again only when tmux itself failed.
pub fn submit(tmux: &Tmux, pane: &str, agent: &AgentTable) -> Result<()> {
    let key = agent.submit_key.as_deref().unwrap_or("Enter");
    for _ in 0..2 {
        if tmux.keys(pane, &["send-keys", "-t", pane, key])?.status.success() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(200));
    }
    tmux.must(&["send-keys", "-t", pane, key]).map(drop)
}

/// An Enter that comes with the text is taken for a part of it.
fn debounce(bytes: usize) -> Duration {
    let millis = 500 + 100 * (bytes as u64).div_ceil(1024).saturating_sub(1);
    Duration::from_millis(millis.min(2000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_keys_falls_out() {
        let clean = |text: &str| cleaned(text.as_bytes().to_vec()).unwrap();
        assert_eq!(clean("a\u{1b}[201~b\r\nc\td\u{7f}\u{9b}e"), "ab\nc\tde");
        assert_eq!(clean("-x; $(id) `id` %s #{pane_id} C-c Enter;"), "-x; $(id) `id` %s #{pane_id} C-c Enter;");
        for bad in [&b"a\0b"[..], b"", b" \n\t", b"\xff", b"\x1b\x07"] {
            assert_eq!(cleaned(bad.to_vec()).unwrap_err().exit.code(), 2);
        }
    }

    #[test]
    fn the_longer_the_text_the_longer_the_wait() {
        assert_eq!(debounce(5), Duration::from_millis(500));
        assert_eq!(debounce(3000), Duration::from_millis(700));
        assert_eq!(debounce(1 << 20), Duration::from_millis(2000));
    }
}
