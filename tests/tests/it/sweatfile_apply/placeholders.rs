//! Placeholders in templates, and the ports of a repository's worktrees.

use std::collections::BTreeSet;

use crate::support::world::{Repo, World, which};

#[test]
fn placeholders_are_filled_in_where_template_is_set() {
    let w = World::new();
    let app = w.app();
    let area = "template = true\n[env]\nHERE = \"{worktree} {branch} {repo} {other} {port:web}\"\n\
                [files.on]\ntemplate = true\ncontent = \"{repo} {port} {x}\"\n[files.off]\ncontent = \"{repo}\"\n";
    w.area(area);
    let wt = app.worktree("wt");
    wt.apply(&[]).succeeds().any_err();
    let env = wt.read(".sweatshop-env");
    let start = format!("HERE='{} wt app {{other}} 2", wt.path.display());
    assert!(env.starts_with(&start), "{env}");
    assert!(wt.read(".on").starts_with("app 2") && wt.read(".on").ends_with(" {x}"), "{}", wt.read(".on"));
    assert_eq!(wt.read(".off"), "{repo}");
    wt.apply(&["check"]).exit(0);
}

#[test]
fn a_branch_is_what_git_calls_one() {
    let w = World::new();
    let app = w.app();
    w.area("template = true\n[env]\nB = \"{branch}\"\n");
    let wt = app.worktree("wt");
    // A tag of that name makes git print `heads/wt` for short.
    app.git(&["tag", "wt"]);
    wt.apply(&[]).succeeds();
    assert_eq!(wt.read(".sweatshop-env"), "B=wt\n");
    // jj keeps its own refs, which are no branches.
    app.git(&["update-ref", "refs/jj/root", "HEAD"]);
    wt.git(&["symbolic-ref", "HEAD", "refs/jj/root"]);
    wt.apply(&[]).succeeds();
    assert_eq!(wt.read(".sweatshop-env"), "B=HEAD\n");
}

#[test]
fn filters_make_names_for_other_programs_and_an_unknown_one_is_an_error() {
    let w = World::new();
    let app = w.app();
    w.area("template = true\n[env]\nCOMPOSE_PROJECT_NAME = \"{repo|slug}-{branch|db}\"\nFROM = \"{default_branch}\"\nAT = \"{worktree|hash}\"\n");
    let [first, second] = ["feat/a", "feat-a"].map(|branch| {
        app.git(&["worktree", "add", "-q", "-b", branch, &format!("../{}", branch.replace('/', "_"))]);
        let wt = w.at(app.path.with_file_name(branch.replace('/', "_")));
        wt.apply(&[]).succeeds();
        wt.read(".sweatshop-env")
    });
    assert!(first.contains("COMPOSE_PROJECT_NAME=app-feat_a_") && first.contains("FROM=main\n"), "{first}");
    assert!(first.lines().zip(second.lines()).filter(|(a, b)| a == b).all(|(a, _)| a == "FROM=main"), "{second}");
    for (line, said) in
        [("A = \"{branch|slugg}\"", "did you mean `slug`?"), ("A = \"{port|db}\"", "a port has no filters")]
    {
        w.area(&format!("[env]\n{line}\n"));
        app.apply(&["check"]).exit(1).any_out().any_err();
        w.area(&format!("template = true\n[env]\nX = \"\"\n{line}\n"));
        app.apply(&[]).exit(2).err_has("sweatfile:4").err_has(said);
        w.area(&format!("[files.x]\ntemplate = true\n{}\n", line.replace("A =", "content =")));
        app.apply(&[]).exit(2).err_has(said);
    }
}

#[test]
fn in_a_command_a_value_is_one_word_of_the_shell() {
    let w = World::new();
    let app = w.app();
    let branch = "a'b;touch${IFS}$HOME/evil;$(touch${IFS}$HOME/evil)";
    app.git(&["worktree", "add", "-q", "-b", branch, "../wt"]);
    let wt = w.at(app.path.with_file_name("wt"));
    w.area("template = true\nsetup = [\"printf %s {branch} > ~/said; printf %s {branch|slug} > ~/slug\"]\n");
    wt.apply(&[]).succeeds().any_err();
    let home = w.at(w.home(""));
    assert_eq!((home.read("said"), home.has("evil")), (branch.to_owned(), false));
    assert!(home.read("slug").starts_with("a-b-touch"));
    // Behind a backslash it would be more.
    w.area("template = true\nsetup = [\"echo \\\\{branch}\"]\n");
    wt.apply(&[]).exit(2).err_has("behind a backslash");
    // Without `template` braces are the shell's.
    w.area("setup = [\"echo {branch} > ~/said\"]\n");
    wt.apply(&[]).succeeds().any_err();
    assert_eq!(home.read("said"), "{branch}\n");
}

#[test]
fn a_path_or_a_branch_that_is_not_utf_8_changes_nothing_where_a_placeholder_needs_it() {
    use std::os::unix::ffi::OsStringExt;
    let w = World::new();
    let app = w.app();
    app.sh(
        "git worktree add -q -b plain \"$(printf '../w\\377')\"; git worktree add -q -b \"$(printf 'b\\377')\" ../wt",
    )
    .exit(0)
    .any_err();
    let odd = w.at(app.path.with_file_name(std::ffi::OsString::from_vec(b"w\xff".to_vec())));
    let wt = w.at(app.path.with_file_name("wt"));
    let sweatfile = |name: &str| {
        w.area(&format!("template = true\nsetup = [\"touch made-{{{name}}}\"]\n[env]\nP = \"{{port}}\"\n"));
    };
    let before = app.snapshot();
    for (at, name) in [(&odd, "worktree"), (&odd, "worktree|hash"), (&wt, "branch|db")] {
        sweatfile(name);
        let named = name.split('|').next().unwrap();
        at.apply(&[]).exit(2).err_has(&format!("`{{{named}}}` cannot be filled in: ")).err_has("git worktree move");
    }
    app.assert_untouched_since(&before);
    sweatfile("branch");
    odd.apply(&[]).exit(0).any_out().any_err();
    assert!(odd.has("made-plain"));
}

#[test]
fn a_port_that_a_program_has_is_passed_over_once() {
    let w = World::new();
    let app = w.app();
    w.area("template = true\n[env]\nP = \"{port}\"\n");
    // Ports go by its name: in no other test does anybody try these.
    let wt = app.worktree("passed-over");
    let port = |wt: &Repo<'_>| wt.read(".sweatshop-env").trim().trim_start_matches("P=").parse::<u16>().unwrap();
    wt.apply(&[]).succeeds();
    let free = port(&wt);
    // Its own program is no reason for another one.
    let program = std::net::TcpListener::bind(("0.0.0.0", free)).unwrap();
    wt.sh("rm .sweatshop-env").exit(0);
    wt.apply(&[]).succeeds();
    assert_eq!(port(&wt), free);
    wt.sh("rm .sweatshop-env $(git rev-parse --git-common-dir)/shopfloor/sweatfile-apply/ports.json").exit(0);
    wt.apply(&[]).succeeds();
    assert_eq!(port(&wt), free + 1);
    // So is one that the worktree had which git called the same.
    let second = std::net::TcpListener::bind(("0.0.0.0", free + 1)).unwrap();
    app.git(&["worktree", "remove", "--force", "../passed-over"]);
    app.git(&["worktree", "add", "-q", "-b", "other", "../elsewhere/passed-over"]);
    let other = w.at(app.path.with_file_name("elsewhere").join("passed-over"));
    other.apply(&[]).succeeds();
    assert_eq!(port(&other), free + 2);
    drop((program, second));
}

#[test]
fn ports_are_stable_and_no_two_worktrees_share_one() {
    let w = World::new();
    let app = w.app();
    w.area("template = true\n[env]\nP = \"{port}\"\nQ = \"{port:q}\"\n");
    let worktrees: Vec<_> = (0..8).map(|i| app.worktree(&format!("w{i}"))).collect();
    std::thread::scope(|scope| {
        for wt in &worktrees {
            scope.spawn(|| wt.apply(&[]).succeeds());
        }
    });
    let read = || -> Vec<String> {
        worktrees
            .iter()
            .flat_map(|wt| wt.read(".sweatshop-env").lines().map(str::to_owned).collect::<Vec<_>>())
            .collect()
    };
    let first = read();
    let ports: BTreeSet<&str> = first.iter().map(|l| l.split_once('=').unwrap().1).collect();
    assert_eq!((first.len(), ports.len()), (16, 16), "{first:?}");
    for wt in &worktrees {
        wt.sh("rm .sweatshop-env").exit(0);
        wt.apply(&[]).succeeds();
    }
    assert_eq!(read(), first);
}

#[test]
fn the_parents_branch_is_the_one_on_which_the_work_lands() {
    let w = World::new();
    w.area("template = true\n[env]\nPARENT = \"{parent_branch}\"\n[files.note]\ntemplate = true\ncontent = \"{parent_branch}\"\n");
    let app = w.app();
    app.commit("a", "a\n");
    app.apply(&["hook", "install"]).exit(0).any_out().any_err();
    let spawned = |from: &Repo<'_>, name: &str| {
        let path = from.spawn(&["subtree", name]).exit(0).any_err().stdout.trim_end().to_owned();
        w.at(path)
    };
    let one = spawned(&app, "one");
    app.git(&["checkout", "-q", "-b", "topic"]);
    let two = spawned(&app, "two");
    assert_eq!(
        (one.read(".sweatshop-env"), two.read(".sweatshop-env")),
        ("PARENT=main\n".into(), "PARENT=topic\n".into())
    );
    assert_eq!(two.read(".note"), "topic");
    app.git(&["worktree", "add", "-q", "../plain", "-b", "plain"]);
    let plain = w.at(app.path.with_file_name("plain"));
    assert_eq!(plain.read(".sweatshop-env"), "PARENT=main\n");
    // An agent can write what is read there.
    let git_dir = two.git(&["rev-parse", "--absolute-git-dir"]);
    let identity = std::path::Path::new(git_dir.trim_end()).join("shopfloor/worktree-spawn/identity.json");
    let forged =
        std::fs::read_to_string(&identity).unwrap().replace("\"target\":\"topic\"", "\"target\":\"$(touch ~/evil)\"");
    std::fs::write(&identity, forged).unwrap();
    std::fs::remove_file(two.path.join(".note")).unwrap();
    two.apply(&[]).exit(4).any_out().err_has("has a character that shells obey");
}

#[test]
fn git_is_asked_once_for_the_default_branch_of_all_worktrees() {
    let w = World::new();
    let app = w.app();
    app.approved("template = true\n[env]\nB = \"{default_branch}\"\n");
    let wt = app.worktree("wt");
    w.program("git", &format!("echo \" $* \" >> ~/calls; exec '{}' \"$@\"", which("git").display()));
    for args in [&[][..], &["check", "--all"]] {
        wt.apply(args).any_status().any_out().any_err();
        let calls = std::fs::read_to_string(w.home("calls")).unwrap();
        assert_eq!(calls.matches(" for-each-ref ").count(), 1, "{calls}");
        std::fs::remove_file(w.home("calls")).unwrap();
    }
    assert_eq!(wt.read(".sweatshop-env"), "B=main\n");
}
