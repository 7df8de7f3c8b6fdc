//! Properties of the parsers that hold for any bytes. Property tests call these functions in the normal run, and so do
//! the fuzz targets in `fuzz/`.

use shopfloor_core::path::RelPath;
use sweatfile_apply::env_file::EnvFile;
use sweatfile_apply::{excludes, review, sweatfile};

/// Every text is accepted as a sweatfile or refused, and an accepted one stays inside the worktree.
pub fn sweatfile(bytes: &[u8]) {
    let parsed = sweatfile::parse(bytes);
    for path in parsed.sweatfile.files.keys() {
        let text = path.to_string();
        assert!(text.starts_with('.') && text.split('/').all(|c| c != ".."), "{text}");
        assert!(text.split('/').all(|c| !c.eq_ignore_ascii_case(".git")), "{text}");
        assert!(!text.starts_with(".sweatshop-env"), "{text}");
    }
    for value in parsed.sweatfile.env.values() {
        assert!(!value.contains(['\0', '\r']));
    }
}

/// Reading and writing any `.sweatshop-env` loses nothing.
pub fn env_file(bytes: &[u8]) {
    let file = EnvFile::parse(bytes);
    let once = file.to_bytes();
    assert_eq!(EnvFile::parse(&once), file);
    assert_eq!(EnvFile::parse(&once).to_bytes(), once);
}

/// Promoting a variable into any sweatfile changes that variable only.
pub fn promote(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(edited) = review::promote(text, "K", "v") {
        assert_eq!(sweatfile::parse(edited.as_bytes()).sweatfile.env["K"], "v");
    }
}

/// A merge of any three texts never panics, and turns texts that parse into a text that parses. The first two NUL bytes
/// separate the texts.
pub fn merge(bytes: &[u8]) {
    use overlay_sync::merge::{FileType, MergeInput, Rule, merge};
    let mut parts = bytes.splitn(3, |b| *b == 0);
    let mut part = || parts.next().unwrap_or_default();
    let (base, overlay, workspace) = (part(), part(), part());
    for kind in [FileType::Json, FileType::JsonLines, FileType::Toml, FileType::Yaml, FileType::Env, FileType::Text] {
        let merged = merge(&MergeInput { base: Some(base), overlay, workspace, kind, rule: Rule::Workspace });
        if [base, overlay, workspace].iter().all(|bytes| kind.parses(bytes)) {
            assert!(kind.parses(&merged.bytes), "{kind:?}: {:?}", String::from_utf8_lossy(&merged.bytes));
        }
    }
}

/// An entry that is taken out of any text is gone, and can be put back from another text. A text that only grows loses
/// no entry. Judging an answer never panics. NUL bytes separate the entry's address and the two texts.
pub fn entries(bytes: &[u8]) {
    use overlay_sync::merge::{
        EntryPath, FileType, Grow, Grown, MergeInput, Rule, check, donate, entries, grown, strip,
    };
    let mut parts = bytes.splitn(3, |b| *b == 0);
    let mut part = || parts.next().unwrap_or_default();
    let (address, one, other) = (String::from_utf8_lossy(part()).into_owned(), part(), part());
    for kind in [FileType::Json, FileType::JsonLines, FileType::Toml, FileType::Yaml, FileType::Env, FileType::Text] {
        let input = MergeInput { base: None, overlay: one, workspace: other, kind, rule: Rule::Workspace };
        let _ = check(&input, other);
        if let Grown::Back(text, _) = grown(kind, Grow::All, one, other) {
            let (before, now) = (entries(kind, Grow::All, one), entries(kind, Grow::All, &text));
            // A variable or a record may have another value.
            let may_change = |entry: &String| kind == FileType::Env || entry.contains(['{', '=']);
            assert!(before.iter().all(|entry| may_change(entry) || now.contains(entry)), "{kind:?}: {text:?}");
        }
        let Some(entry) = EntryPath::parse(kind, &address) else { continue };
        let all = [entry];
        if let Some(stripped) = strip(kind, one, &all) {
            assert_eq!(all[0].count(kind, &stripped), 0, "{kind:?}: {stripped:?}");
            let back = donate(kind, &stripped, &all, one);
            assert!(back.is_none_or(|back| back == one), "{kind:?}: put back where it was");
        }
    }
}

/// Other people's lines in `info/exclude` stay as they are, byte for byte.
pub fn excludes(bytes: &[u8]) {
    let patterns = ["a".to_owned(), "b".to_owned()];
    let with = excludes::with(bytes, &patterns);
    assert!(excludes::missing(&with, &patterns).is_empty());
    assert_eq!(excludes::with(&with, &patterns), with);
}

/// Every relative path is accepted or refused, and an accepted one has ordinary components only.
pub fn path(bytes: &[u8]) {
    use std::os::unix::ffi::OsStrExt;
    if let Ok(path) = RelPath::parse_os(std::ffi::OsStr::from_bytes(bytes)) {
        let ordinary = |c: std::path::Component<'_>| matches!(c, std::path::Component::Normal(_));
        assert!(path.as_path().components().all(ordinary));
    }
}

/// Every event file is read or refused. An event that was read has a canonical form, and can be written again.
pub fn event(bytes: &[u8]) {
    use ledger_synth::canonical;
    use ledger_synth::event::LedgerEvent;
    use ledger_synth::event_file;
    let Ok(text) = event_file::decode(bytes) else { return };
    let Ok(event) = LedgerEvent::parse(&text) else { return };
    let written = event.render();
    // A text may hold what git leaves in a conflict; then its file is one that is skipped.
    if event_file::refuse_conflict_markers(&written).is_ok()
        && event_file::split(&written).is_ok_and(|p| p.front.len() < 16 << 10)
    {
        let again = LedgerEvent::parse(&written).map(|event| canonical::id(&event));
        assert_eq!(again.ok(), Some(canonical::id(&event)), "{written}");
    }
}

/// Every record of an agent and every event file is read or refused, and an event is written as it was read. The slug
/// of a slug is the slug itself. Every id can be the name of a file.
pub fn agents(bytes: &[u8]) {
    use worktree_spawn::event::SpoolEvent;
    use worktree_spawn::identity::Agent;
    use worktree_spawn::layout::encoded;
    use worktree_spawn::slug::slug;
    if let Ok(event) = SpoolEvent::parse(bytes) {
        assert_eq!(SpoolEvent::parse(event.line().as_bytes()), Ok(event));
    }
    if let Ok(agent) = Agent::parse(std::path::Path::new("identity.json"), bytes) {
        let _ = agent.dotted();
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let name = encoded(text);
    assert!(name.len() < 250 && !name.starts_with('.') && !name.contains('/'), "{name}");
    if let Ok(once) = slug(text) {
        assert!(once.len() <= 50 && slug(&once).is_ok_and(|twice| twice == once), "{once}");
    }
}

/// Every state is read or refused, and written as it was read. No input to the state machine panics, or makes a valid
/// worker invalid. Cleaning a text leaves exactly what can be typed.
pub fn workers(bytes: &[u8]) {
    use worker_ctl::plan::machine::{Input, apply};
    if let Ok(state) = worker_ctl::State::parse(bytes) {
        let text = state.text().unwrap_or_default();
        assert_eq!(worker_ctl::State::parse(text.as_bytes()).as_ref(), Ok(&state));
        for worker in state.workers.values().filter(|worker| worker.check().is_ok()) {
            for event in
                [Input::SessionGone, Input::Doubt, Input::Reset { requeue: false }, Input::Accepted, Input::WorkGone]
            {
                let after = apply(worker, &event, 7).map(|(after, _)| after);
                assert!(after.is_ok_and(|after| after.check().is_ok()), "{worker:?} {event:?}");
            }
        }
    }
    if let Ok(text) = worker_ctl::cleaned(bytes.to_vec()) {
        assert!(text.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()), "{text:?}");
        assert_eq!(worker_ctl::cleaned(text.clone().into_bytes()).ok(), Some(text));
    }
}
