//! Texts and parts of texts that wait for `accept` or `reject`.

use crate::support::overlay::{OVERLAY, SETTINGS, allow, configure, edited, id, scene};
use crate::support::world::{World, text};

/// Case 8 of the design.
#[test]
fn half_written_gutted_and_code_running_texts_are_held() {
    let w = World::new();
    let s = scene(&w);
    s.put(SETTINGS, "{\"a\": 1}\n");
    s.put(".env", "A=1\nB=1\nC=1\nD=1\nE=1\nF=1\nG=1\nH=1\n");
    s.attach();
    s.a.write(SETTINGS, "{\"a\":");
    s.a.write(".env", "A=1\n");
    let out = s.sync(1);
    out.err_has("no longer parses").err_has("7 of 8 entries vanished");
    assert_eq!(s.b.read(SETTINGS), "{\"a\": 1}\n");
    let states = s.a.overlay(&["status", "--json", "."]).exit(0).json_lines();
    assert!(states.iter().all(|l| text(l, "/state") == "held"), "{states:?}");
    s.a.overlay(&["detach", "."]).exit(1).err_has("stays attached");
    s.a.write(SETTINGS, "{\"a\": 2}\n");
    s.a.write(".env", "A=1\nB=1\nC=1\nD=1\nE=1\nF=1\nG=1\nH=2\n");
    s.sync(0).any_err();
    s.all_are(SETTINGS, "{\"a\": 2}\n");
    s.a.write(SETTINGS, "{\"a\": 2, \"hooks\": {\"Stop\": [{\"command\": \"curl evil\"}]}}\n");
    s.sync(1).err_has("run code in every workspace");
    assert_eq!(s.b.read(SETTINGS), "{\"a\": 2}\n");
    // A person rejects it or lets it spread; a later edit waits again.
    let held = || {
        let lines = s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines();
        let held: Vec<_> = lines.iter().filter(|l| text(l, "/state") == "held").collect();
        held.first().map(|l| text(l, "/id").to_owned())
    };
    s.app.overlay(&["accept", "nothing"]).exit(1).any_err();
    s.app.overlay(&["reject", &held().unwrap()]).succeeds().any_err();
    s.all_are(SETTINGS, "{\"a\": 2}\n");
    let hooks = "{\"a\": 2, \"hooks\": {\"Stop\": [{\"command\": \"date\"}]}}\n";
    s.a.write(SETTINGS, hooks);
    s.sync(1).any_err();
    s.app.overlay(&["accept", &held().unwrap()]).succeeds().any_err();
    s.all_are(SETTINGS, hooks);
    assert_eq!(held(), None);
    s.b.write(SETTINGS, &hooks.replace("date", "curl evil"));
    s.sync(1).any_err();
    assert_eq!(s.a.read(SETTINGS), hooks);
}

#[test]
fn a_text_of_which_only_blanks_are_left_is_held() {
    let w = World::new();
    let s = scene(&w);
    let files =
        [(".env", "A=1\n"), (".data/notes.md", "one\n"), (".data/x.yaml", "a: 1\n"), (".data/x.toml", "a = 1\n")];
    files.iter().for_each(|(path, text)| s.put(path, text));
    s.put(".data/blank.md", "\n");
    s.attach();
    for blank in ["\n", " \t\r\n\n"] {
        files.iter().for_each(|(path, _)| s.a.write(path, blank));
        let out = s.sync(1);
        files.iter().for_each(|(path, text)| {
            out.err_has(&format!("/a: {path} is held: it "));
            s.all_but(&s.a, path, text);
        });
    }
    // The overlay's own text too. One that was blank before may stay so.
    files.iter().for_each(|(path, text)| s.a.write(path, text));
    s.put(".env", "\n");
    s.a.write(".data/blank.md", "\n\n");
    s.sync(1).err_has(".env is held: in the overlay: it is empty");
    assert_eq!((s.a.read(".env").as_str(), s.b.read(".env").as_str()), ("A=1\n", "A=1\n"));
    s.all_are(".data/blank.md", "\n\n");
}

#[test]
fn an_environment_that_leaves_a_quote_open_is_held() {
    let w = World::new();
    let s = scene(&w);
    let whole = "A=1\nPEM=\"-----BEGIN\nabc\n-----END\"\nS='it is'\nZ=2\n";
    s.put(".env", whole);
    s.put(".env.open", "NAME='tis\nA=1\n");
    s.attach();
    for end in ["-----END", " is"] {
        let (cut, _) = whole.split_once(end).unwrap();
        s.a.write(".env", cut);
        s.sync(1).err_has("/a: .env is held: it no longer parses");
        s.all_but(&s.a, ".env", whole);
    }
    s.a.write(".env", whole);
    // An apostrophe in a value opens none, and what was open before may stay so.
    let more = format!("{whole}N=it's\n");
    s.put(".env", &more);
    s.a.write(".env.open", "NAME='tis\nA=2\n");
    s.sync(0).any_err();
    s.all_are(".env", &more);
    s.all_are(".env.open", "NAME='tis\nA=2\n");
}

#[test]
fn no_spelling_of_a_number_gets_hooks_past_the_review() {
    for number in ["1e999", "123456789012345678901234567890"] {
        let w = World::new();
        let start = format!("{{\"a\": {number}}}\n");
        let code = format!("{{\"a\": {number}, \"hooks\": {{\"Stop\": [{{\"command\": \"curl evil\"}}]}}}}\n");
        let s = edited(&w, SETTINGS, &start, &code);
        s.sync(1).any_err();
        assert_eq!((s.text(SETTINGS), s.b.read(SETTINGS)), (start.clone(), start));
    }
}

#[test]
fn reject_takes_back_only_the_held_text() {
    let w = World::new();
    let s = edited(&w, SETTINGS, "{\"a\": 1}\n", "{\"a\":");
    s.sync(1).any_err();
    let id = s.held_ids().remove(0);
    s.a.write(SETTINGS, "{\"a\": 2}\n");
    s.app.overlay(&["reject", &id]).exit(1).any_out().err_has("is no longer what was held");
    assert_eq!(s.a.read(SETTINGS), "{\"a\": 2}\n");
    s.a.write(SETTINGS, "{\"a\":");
    s.a.sh("git add -f .data").exit(0);
    s.app.overlay(&["reject", &id]).exit(1).any_err();
    assert_eq!(s.a.read(SETTINGS), "{\"a\":");
    // A file that git tracks holds nothing back.
    s.sync(0).any_err();
    s.a.overlay(&["detach", "."]).succeeds();
}

#[test]
fn an_accepted_text_is_accepted_in_every_workspace() {
    let w = World::new();
    let s = edited(&w, ".env", "A=1\nB=1\nC=1\nD=1\nE=1\nF=1\nG=1\nH=1\n", "A=1\n");
    s.sync(1).err_has("7 of 8 entries vanished");
    s.app.overlay(&["accept", &s.held_ids()[0]]).succeeds().any_err();
    s.all_are(".env", "A=1\n");
    assert_eq!(s.app.overlay(&["conflicts"]).exit(0).stdout, "");
}

#[test]
fn additions_that_run_code_wait_while_the_rest_of_the_edit_is_synced() {
    let w = World::new();
    let s = scene(&w);
    s.put(SETTINGS, &allow("\"Read\""));
    s.attach();
    let hooked = allow("\"Read\", \"Edit\"")
        .replace("{\n  \"p", "{\n  \"hooks\": {\"Stop\": [{\"command\": \"curl x\"}]},\n  \"p");
    s.a.write(SETTINGS, &hooked);
    let foretold = s.app.overlay(&["sync", "-n"]).exit(1);
    foretold.out_has("would push .data/shared.json").out_has("would hold a part of .data/shared.json (");
    foretold.out_has("/a): it adds to `hooks`");
    s.sync(1).err_has("a part of").err_has("adds to `hooks`");
    s.all_but(&s.a, SETTINGS, &allow("\"Read\", \"Edit\""));
    assert_eq!(s.a.read(SETTINGS), hooked);
    // What a command finds before and after is said once.
    s.put(".env", "A=1\nB=1\n");
    let dropped = s.app.overlay(&["drop", ".env", "B"]).exit(0).any_out();
    assert_eq!(dropped.stderr.matches("a part of").count(), 1, "{dropped}");
    // While it is held there is nothing more to do. Other edits still arrive, even in that workspace.
    assert_eq!(s.sync(1).any_err().stdout, "");
    for form in [&["sync", "-n"][..], &["sync", "-n", "--json"]] {
        let foretold = s.app.overlay(form).exit(1);
        assert_eq!(foretold.err_has(&format!("run `overlay-sync accept {}`", s.held_ids()[0])).stdout, "");
    }
    s.b.write(SETTINGS, &allow("\"Read\", \"Edit\", \"Web\""));
    s.sync(1).any_err();
    assert!(s.a.read(SETTINGS).contains("Web") && s.a.read(SETTINGS).contains("curl x"));
    assert!(!s.b.read(SETTINGS).contains("curl"));
    let states = s.a.overlay(&["status", ".", "--json"]).exit(0).json_lines();
    assert_eq!(text(&states[0], "/state"), "held");
    s.app.overlay(&["accept", &s.held_ids()[0]]).succeeds().any_err();
    assert!([s.text(SETTINGS), s.b.read(SETTINGS)].iter().all(|t| t.contains("curl x") && t.contains("Web")));
    assert_eq!(s.sync(0).stdout, "");
    // It was accepted once: when a person removes it and it comes back, it waits again.
    let with = s.text(SETTINGS);
    let without = with.replace("\"hooks\": {\"Stop\": [{\"command\": \"curl x\"}]},", "");
    assert_ne!(with, without);
    s.put(SETTINGS, &without);
    s.sync(0).any_err();
    s.a.write(SETTINGS, &with);
    s.sync(1).err_has("adds to `hooks`");
    s.a.write(SETTINGS, &without);
    s.sync(0).any_err();
    s.put(SETTINGS, &with);
    s.sync(0).any_err();
    // The user can turn the review off; the repository's configuration needs approval for that.
    s.b.write(SETTINGS, &s.text(SETTINGS).replace("curl x", "curl y"));
    s.app.overlay(&["sync"]).exit(1).any_out().any_err();
    s.app.write(".shopfloor/config.toml", "[overlay-sync]\nreview = []\n");
    s.app.overlay(&["sync"]).exit(1).err_has("needs approval");
    s.app.run("sweatfile-apply", &["approve", "--yes"]).succeeds();
    s.app.overlay(&["sync"]).succeeds();
    assert!(s.a.read(SETTINGS).contains("curl y"));
    s.a.write(SETTINGS, &s.text(SETTINGS).replace("curl y", "curl z"));
    s.app.overlay(&["sync", "--review", "hooks"]).exit(1).any_out().any_err();
    s.app.overlay(&["sync", "--review", ""]).succeeds();
}

#[test]
fn the_same_text_held_in_two_files_has_two_ids() {
    let w = World::new();
    let s = scene(&w);
    let full = "A=1\nB=1\nC=1\nD=1\nE=1\nF=1\nG=1\nH=1\n";
    s.put(".env", full);
    s.put(".env.other", "B=1\n");
    s.put(".env.third", "C=1\n");
    s.attach();
    s.a.write(".env", "");
    s.a.write(".env.other", "");
    s.sync(1).any_err();
    let all = s.held();
    assert_ne!(id(&all[0]), id(&all[1]));
    let other = all.iter().find(|held| text(held, "/path") == ".env.other").unwrap();
    assert_ne!(text(other, "/overlay"), text(other, "/here"));
    s.app.overlay(&["accept", id(other)]).succeeds().any_err();
    assert_eq!((s.text(".env").as_str(), s.text(".env.other").as_str(), s.b.read(".env").as_str()), (full, "", full));
    // Another text is held now, which nobody has accepted.
    let waiting = s.held();
    s.a.write(".env", "A=1\n");
    s.app.overlay(&["accept", id(&waiting[0])]).exit(1).any_out().err_has("is no longer what was held");
    assert_eq!(s.b.read(".env"), full);
}

#[test]
fn code_does_not_pass_in_a_text_that_cannot_be_parsed() {
    let w = World::new();
    let s = scene(&w);
    configure(&w, "[overlay-sync]\npaths = [\".data/*\"]\n");
    s.put(".data/x.yaml", "? [a]\n: 1\n");
    s.attach();
    s.a.write(".data/x.yaml", "? [a]\n: 1\nhooks:\n  - curl\n");
    let wide: Vec<u8> = "{\"mcpServers\": {\"x\": {}}}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(s.a.path.join(".data/mcp.json"), [b"\xff\xfe".as_slice(), &wide].concat()).unwrap();
    s.sync(1).err_has("nobody can tell what it adds").err_has("mcp.json is held: it does not parse");
    assert!(!s.b.has(".data/mcp.json") && s.b.read(".data/x.yaml") == "? [a]\n: 1\n");
    // A person accepts the text, not its leaves in any order.
    s.put(SETTINGS, "{}");
    s.sync(1).any_err();
    s.a.write(SETTINGS, "{\"hooks\": {\"Stop\": [{\"m\": 1}, {\"c\": 2}]}}");
    s.sync(1).any_err();
    let waiting = s.held().into_iter().find(|held| text(held, "/path") == SETTINGS).unwrap();
    s.a.write(SETTINGS, "{\"hooks\": {\"Stop\": [{\"m\": 1, \"c\": 2}]}}");
    s.app.overlay(&["accept", id(&waiting)]).exit(1).any_out().any_err();
    assert_eq!(s.b.read(SETTINGS), "{}");
}

#[test]
fn a_held_text_with_local_entries_can_be_rejected() {
    let w = World::new();
    let s = scene(&w);
    configure(&w, "[overlay-sync.path.\".env*\"]\nlocal = [\"PORT\"]\ndelete = \"propagate\"\n");
    let full = "A=1\nB=1\nC=1\nD=1\nE=1\nF=1\nG=1\nH=1\n";
    s.put(".env", full);
    s.put(".env.x", "X=1\n");
    s.put(".env.y", "Y=1\n");
    s.attach();
    s.a.write(".env", "PORT=7\nA=1\n");
    s.sync(1).err_has("7 of 8 entries vanished");
    assert_eq!(s.app.overlay(&["show", id(&s.held()[0])]).exit(0).stdout, "PORT=7\nA=1\n");
    s.app.overlay(&["reject", id(&s.held()[0])]).succeeds().any_err();
    assert_eq!((s.a.read(".env"), s.b.read(".env")), (format!("PORT=7\n{full}"), full.into()));
    // A file without local entries is deleted with the overlay's, a file with some stays.
    s.a.write(".env.x", "X=1\nPORT=3\n");
    s.sync(0).any_err();
    s.app.sh(&format!("rm ~/{OVERLAY}/.env.x ~/{OVERLAY}/.env.y")).exit(0);
    s.sync(0).any_err();
    assert!(s.a.has(".env.x") && !s.b.has(".env.x") && !s.a.has(".env.y"));
}

#[test]
fn everything_held_can_be_released() {
    let w = World::new();
    let s = scene(&w);
    configure(&w, "[overlay-sync]\npaths = [\".data/*\"]\n");
    let nine = |n: u32| (0..9).map(|i| format!("K{i}={n}\n")).collect::<String>();
    s.put(SETTINGS, "{\"m\": 1}");
    s.put(".env", &nine(1));
    s.attach();
    // The overlay's own text is held and reaches no workspace.
    s.put(SETTINGS, "{\"m\": 2, \"k\"");
    let out = s.sync(1);
    out.err_has("in the overlay: it no longer parses").err_has(" or fix the overlay's file");
    assert!(!out.stderr.contains("overlay-sync reject"), "{out}");
    let waiting = s.held();
    for dry in [&["-n"][..], &[]] {
        let refused = s.app.overlay(&[dry, &["reject", id(&waiting[0])]].concat()).exit(1);
        refused.err_has("what is held is the overlay's text");
    }
    assert_eq!(s.a.read(SETTINGS), "{\"m\": 1}");
    s.put(SETTINGS, "{\"m\": 2}");
    s.sync(0).any_err();
    // A file that must not enter the overlay.
    s.a.write(".data/mcp.json", "{\"mcpServers\": {\"x\": {}}}");
    s.sync(1).any_err();
    s.app.overlay(&["reject", id(&s.held()[0])]).succeeds().any_err();
    s.sync(0).any_err();
    assert!(s.a.has(".data/mcp.json") && !s.overlay(".data/mcp.json").exists());
    s.a.overlay(&["status", "."]).exit(0).out_has("clean .data/mcp.json").out_has("rejected, and kept here");
    // That was said of this text here, and of no other.
    for (at, text) in [(&s.a, "{\"mcpServers\": {\"y\": {}}}"), (&s.b, "{\"mcpServers\": {\"x\": {}}}")] {
        at.write(".data/mcp.json", text);
        s.sync(1).err_has("mcp.json is held");
        s.app.overlay(&["reject", id(&s.held()[0])]).succeeds().any_err();
        s.sync(0).any_err();
    }
    // Both sides are gutted: each has to be accepted.
    s.a.write(".env", "K0=a\n");
    s.put(".env", "K0=o\n");
    s.sync(1).any_err();
    for _ in 0..3 {
        if let Some(waiting) = s.held().first() {
            let _ = s.app.overlay(&["accept", id(waiting)]).any_status().any_out().any_err();
        }
    }
    assert_eq!(s.held().len(), 0);
    s.sync(0).any_err();
    s.all_are(".env", &s.text(".env"));
}

#[test]
fn accepting_one_part_accepts_nothing_else() {
    let w = World::new();
    let s = scene(&w);
    configure(&w, "[overlay-sync]\non_conflict = \"hold\"\n");
    s.put(SETTINGS, "{\"a\": 1, \"b\": 1}");
    s.attach();
    s.put(SETTINGS, "{\"a\": 2, \"b\": 1}");
    s.a.write(SETTINGS, "{\"b\": 2, \"hooks\": {\"P\": [\"evil\"]}}");
    s.sync(1).err_has("both sides changed a; it adds to `hooks`");
    // The rest is synced.
    assert!(s.b.read(SETTINGS).contains("\"b\": 2"));
    let waiting = s.held();
    // A dry run answers with the same code.
    for dry in [&["-n"][..], &[]] {
        s.app.overlay(&[dry, &["accept", id(&waiting[0])]].concat()).exit(1).any_out().any_err();
    }
    assert!(
        s.b.read(SETTINGS).contains("evil") && !s.b.read(SETTINGS).contains("\"a\""),
        "both were told, and what was deleted goes"
    );
    // A gutted text with hooks: accepting the one does not accept the other.
    let keys: String = (0..9).map(|n| format!("\"k{n}\": 1, ")).collect();
    s.put(".data/other.json", &format!("{{{keys}\"z\": 1}}"));
    s.sync(0).any_err();
    s.a.write(".data/other.json", "{\"z\": 1, \"hooks\": {\"P\": [\"evil\"]}}");
    s.sync(1).err_has("entries vanished");
    let waiting = s.held();
    s.app.overlay(&["accept", id(&waiting[0])]).exit(1).any_out().err_has("it adds to `hooks`");
    assert!(!s.b.read(".data/other.json").contains("k3") && !s.b.read(".data/other.json").contains("evil"));
}
