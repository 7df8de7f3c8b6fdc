//! State below `.git` that somebody else wrote: it is input, and leads to nothing of a person's.

use shopfloor_core::hash::Digest;

use crate::support::overlay::{SETTINGS, allow, configure, scene};
use crate::support::world::{World, text, write};

/// An agent can make an overlay of its own that knows all worktrees, and name it in the mark of its worktree.
#[test]
fn a_worktree_that_goes_is_synced_with_the_configured_overlay_only() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.b.write(".env", "A=1\nSECRET=1\n");
    let fake = s.a.path.join("fake");
    s.a.sh(&format!("cp -r {} fake", s.overlay("").display())).exit(0);
    write(&fake.join(".env"), "A=1\nEVIL=1\n");
    let mark = ".git/worktrees/a/shopfloor/overlay-sync/overlay";
    s.app.sh(&format!("printf %s {} > {mark}", fake.display())).exit(0);
    let before = w.at(&fake).snapshot();
    let out = s.app.overlay(&["hook", "run", "pre-remove", "../a"]).exit(1);
    out.err_has(&format!("says that it is attached to {}", fake.display())).err_has("detach").err_has("--force");
    assert_eq!((s.a.read(".env"), s.b.read(".env")), ("A=1\n".into(), "A=1\nSECRET=1\n".into()));
    w.at(&fake).assert_untouched_since(&before);
}

/// What a program wrote into a file after it was replaced comes back into the file. An agent can forge that for the main
/// checkout, and whatever would wait for a person as an edit must not come in this way.
#[test]
fn a_forged_late_text_brings_nothing_that_waits_for_a_person() {
    let w = World::new();
    let s = scene(&w);
    let plain = allow("\"Read\"");
    s.put(SETTINGS, &plain);
    s.attach();
    s.sync(0).any_err();
    let hash = |text: &str| Digest::of(text.as_bytes()).to_string();
    let forge = |name: &str, text: &str| {
        let (before, path) = (hash(&plain), hash(SETTINGS));
        let file = format!(".shopfloor-tmp-late-{before}-{}-{}-{name}", hash("x"), &path[..16]);
        s.app.write(&format!(".git/worktrees/b/shopfloor/overlay-sync/tmp/{file}"), text);
    };
    let evil =
        plain.replace("\n}\n", ",\n  \"hooks\": { \"Stop\": [{ \"hooks\": [{ \"command\": \"evil\" }] }] }\n}\n");
    forge("1-1-1", &evil);
    let out = s.app.overlay(&["sync"]).any_status().any_out();
    out.err_has("a program wrote to .data/shared.json after the file was replaced");
    s.all_are(SETTINGS, &plain);
    // It is kept, and a text that an edit could have spread is not lost either.
    let kept = &s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines()[0];
    assert_eq!(s.app.overlay(&["show", text(kept, "/here")]).exit(0).stdout, evil);
    forge("2-1-1", &allow("\"Read\", \"Grep\""));
    s.sync(0).any_err();
    assert!(s.b.read(SETTINGS).contains("Grep") && !s.b.read(SETTINGS).contains("evil"));
}

/// An edit could not reach what a workspace has of its own, and what it only receives.
#[test]
fn a_forged_late_text_changes_nothing_that_is_a_workspaces_own() {
    let w = World::new();
    let s = scene(&w);
    configure(
        &w,
        "[overlay-sync.path.\".env\"]\nlocal = [\"PORT\"]\n[overlay-sync.path.\".env.down\"]\ndirection = \"down\"\n",
    );
    s.put(".env", "A=1\n");
    s.put(".env.down", "B=1\n");
    s.attach();
    s.b.write(".env", "A=1\nPORT=1\n");
    s.sync(0).any_err();
    let hash = |text: &str| Digest::of(text.as_bytes()).to_string();
    for (path, before, text) in [(".env", "A=1\nPORT=1\n", "A=1\nPORT=666\n"), (".env.down", "B=1\n", "B=1\nEVIL=1\n")]
    {
        let file = format!(".shopfloor-tmp-late-{}-{}-{}-1-1-1", hash(before), hash("x"), &hash(path)[..16]);
        s.app.write(&format!(".git/worktrees/b/shopfloor/overlay-sync/tmp/{file}"), text);
        let out = s.app.overlay(&["sync"]).any_status().any_out();
        out.err_has(&format!("a program wrote to {path} after the file was replaced"));
        assert_eq!(s.b.read(path), before);
    }
}

/// What a killed run left is kept and removed. Behind a link it would be somebody else's.
#[test]
fn a_link_in_the_state_of_one_worktree_is_not_followed_and_stops_no_other() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.sync(0).any_err();
    let theirs = w.home("theirs/.shopfloor-tmp-x");
    write(&theirs, "theirs\n");
    s.app.sh("cd .git/worktrees/a/shopfloor/overlay-sync && rm -rf tmp && ln -s ~/theirs tmp").exit(0);
    s.b.write(".env", "A=2\n");
    s.app.overlay(&["sync"]).any_status().any_out().err_has("is a symbolic link, which is not followed");
    assert_eq!((s.text(".env").as_str(), s.a.read(".env").as_str()), ("A=2\n", "A=1\n"));
    assert!(theirs.exists());
    s.a.overlay(&["sync"]).exit(4).err_has("is a symbolic link, and our state has none").err_has("then remove it: `rm");
    s.app.sh("rm .git/worktrees/a/shopfloor/overlay-sync/tmp").exit(0);
    s.sync(0).any_err();
    s.all_are(".env", "A=2\n");
    assert!(theirs.exists());
}

/// The fingerprint tells at most that there is nothing to do.
#[test]
fn a_forged_cache_is_no_reason_to_fail() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.sync(0).any_err();
    s.sync(0).any_err();
    let digest = "0".repeat(64);
    let (dir, place) = (".git/shopfloor/overlay-sync", "\"root\":\"/\",\"git_dir\":\"/\"");
    let forged = [
        format!("{{\"v\":4,\"workspaces\":{{\"{digest}\":{{{place},\"place\":1,\"git\":1,\"files\":{{\"a\":1}}}}}}}}"),
        format!(
            "{{\"v\":4,\"workspaces\":{{\"{digest}\":{{{place},\"place\":1,\"git\":1,\"files\":{{\"../x\":1}}}}}}}}"
        ),
        "{\"v\":4}".to_owned(),
        format!("{{\"v\":3,\"places\":[{{\"id\":\"{digest}\",{place}}}],\"print\":1}}"),
        "x".to_owned(),
    ];
    for (at, text) in forged.iter().enumerate() {
        s.app.write(&format!("{dir}/rest.json"), text);
        s.b.write(".env", &format!("A={at}\nB=1\n"));
        s.sync(0).any_err();
        s.all_are(".env", &format!("A={at}\nB=1\n"));
    }
    s.app.write(&format!("{dir}/repository"), "forged\n/etc/passwd");
    s.b.write(".env", "A=9\n");
    s.sync(0).any_err();
    s.all_are(".env", "A=9\n");
}

/// git waits for ever on a pipe in the place of a file that it reads.
#[test]
fn a_pipe_in_the_record_of_one_worktree_holds_up_no_other() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.sync(0).any_err();
    s.app.sh("rm .git/worktrees/a/index && mkfifo .git/worktrees/a/index").exit(0);
    s.b.write(".env", "A=1\nB=2\n");
    let out = s.app.sh("timeout 60 overlay-sync sync").any_status().any_out();
    assert_ne!(out.status, Some(124));
    out.err_has("index is not a file");
    assert_eq!(std::fs::read_to_string(s.overlay(".env")).unwrap(), "A=1\nB=2\n");
}

#[test]
fn one_worktree_that_cannot_be_read_hides_no_other() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.a.sh(": > ../app/.git/worktrees/a/index").exit(0);
    let shown = s.app.overlay(&["status"]).exit(4);
    shown.err_has("/a: ").err_has("1 workspaces cannot be read").out_has("/b");
    s.app.git(&["worktree", "repair"]);
    // git waits at a pipe, and is asked once.
    s.a.sh("rm ../app/.git/worktrees/a/index && git reset -q && mkfifo .gitignore.new && mv .gitignore.new .gitignore")
        .exit(0)
        .any_out();
    s.app.commit(".gitignore", ".env*\n*.log\n");
    s.b.write(".env", "A=1\nB=1\n");
    let start = std::time::Instant::now();
    s.app.overlay(&["sync"]).exit(4).any_out().err_has("git took longer than 20 s");
    assert!(start.elapsed() < std::time::Duration::from_secs(90), "{:?}", start.elapsed());
    assert_eq!(s.text(".env"), "A=1\nB=1\n");
}

#[test]
fn a_pipe_with_the_name_of_a_late_text_holds_nobody_up() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    let zeros = "0".repeat(64);
    let dir = s.app.path.join(".git/worktrees/a/shopfloor/overlay-sync/tmp");
    let line =
        format!("mkdir -p {0} && mkfifo {0}/.shopfloor-tmp-late-{zeros}-{zeros}-0123456789abcdef-x", dir.display());
    s.app.sh(&line).exit(0);
    s.b.write(".env", "A=1\nB=1\n");
    let start = std::time::Instant::now();
    s.app.overlay(&["sync"]).any_status().any_out().any_err();
    assert!(start.elapsed() < std::time::Duration::from_secs(20));
    assert_eq!(s.text(".env"), "A=1\nB=1\n");
}
